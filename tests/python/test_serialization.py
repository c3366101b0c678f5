"""Saving and loading: files of the reference, both forms, what a file may do, damage."""
import base64
import collections
import io
import os
import pickle
import struct
import zipfile
import zlib

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import serialization  # noqa: E402

# OrderedDict(w=arange(6.).reshape(2, 3), t=w.t(), p=Parameter(bfloat16 [1]), i=tensor([7, -1]),
# n=3, c=tensor([1 + 2j]).conj()) as the reference writes it, compressed, in both forms.
REFERENCE = {
    "zip": (
    "c-o~^NpI6Y6rR|L8w{i^TT3ZrD-fWhiIc`HTaZD%7>N>8sp1k$Vj6=R=Q-1|38@llp*Q#ghzsHeaDbn{0U^Nwap1-Qap"
    "KAiX2v1)xJpXtC^Hi$^DTaU?|IS?qX@<0Xw~RJ+mPv%tM<G#S~0Pis^4~WErG6aV?ijFUB|J?*mi3T`Lb8BJgaiiE@K("
    "cu_8p0(-A^;2ZS<q30tZ(hi#`Jmptpnob6Of*s3*LuQad7ASRR3UF2|soHS=Fi24v&cU%)+^?#Hh#t73OO^akN*XN+ik"
    "TArr7|0L|aS1jVq7hjFdAUjrY{syq2wNElL!wGVs?ln!DpeV*o5DmxSb`oSLeafGY#WB{McBb$b=cX)eBJcSSqod947+"
    "^hre%$J&g5IJ`xsLO`iX1=!)_`YS%d+)?C~WBG3+hE&=YpC?=kEz!U2Y|;UGtT$*s+_h!3$N3Jeos0mESyhDA6+iI4ik"
    "NepB?&JNb#gdwtTWf<XDFSxUH$GXc0`y@M>g_Li5v}rp{myFM@JcR6YloGnNTabIwz%W*X{9J0%=!$=M`!2ReK#0!Cwy"
    "D;K_P0_kb<_1`O<bC{yaq`rT^kH#96vHt<;~BpkEl;N+p7#9bw#C_V<pqEXKJ%n4eMIAqfncX&rt(~JMe?tArd+o=tYH"
    "=fgAU*<<er&wbTEj`*%1t#*RfjES~+gTOuk_M-K^fj;rd?w62}nfB~O%p+J`N<U{5HnJ>;$M}1GfKkFxd^snJ)gm;wDw"
    "d6lLS}0JZ<yU9kuO0sc(s(6B*UoJu_+)f7xqmkYbu;yPc&dkW(9Ujhyqm19rP2E1@5i3%&c7_As8GD4ZZ|sJ(rp!)`oC"
    "ew%2fH|^O>o&<3EIyl>%h9+^{^GRN#G+zCB8IMb}d6G?GcH>UdsJl?ioXVtg!@$tz>&+=McgA6K)vw3<_t{CHMLQ<pDP"
    "IhQ0plFVg<nr-<EHmaUg&cpA)Fgn<P`Z(lm0kvywVUl1I8Q@4h21!<Rt}suq5%h9AMG>uTKw)^WY7-p%vxq{yBa98!A&"
    ";#_L)c6h8>|{0`zef7!q{Nu^VsXL5H=ge26MNY!+r^1+dQ*iN)7R`me3l>K50nO$luZsPqvV9Xn!R5`!C7g366E02b=t"
    "B|E(93e2mP_`)B_ETt_ob"
    ),
    "legacy": (
    "c-nQ6NpI6Y7>2zi0YgjKDQnqXmXJCdIkf`Ri&@RZ7i0xzRJ(F*zxJdoQlwlO0>6O+NB$Z=0SO7dv8_U?F!Frk*}ms}XJ"
    ")K?(ZgR~H-D~de}B1LA1lv(s1!$#3};D_q$G`b?8TwG%hD`}BgnMCS)iFP;5=k5iv~eIf--e<8sr}m=4Qc1mO&jsGn@("
    "yW`3M<R4m0&sTV{XRZDX;kt2?_P_wk*keD7}LgsOzWcrJAz*07N5_nvPv}!{(9GP~!gW~Zx_58X!<UyF}Zpz*cgK*$-7"
    "G-hj?wUGO!*FT>Oe_0a3|g^8-wfkEe_agfs5pzXrq}HCx)0k;liIe4YOc{sh9s-{oa4|dOR^M8o#3#gTJi+?XJ5!U!g1"
    "8bLavEp(I=#@`Eyeq^NUnVB9&?>6CAf>k?};4>LkZ08>jPB3C{e-UeZtdJB+hb$Jv5bntGJGTI=llI`>yZx7Fx0NQa4K"
    "5+Rd_^FoBYhYKQHECgKQxNPIfH1Di@!c`mBay0?2&!C>tb?swr%zACL+l>}(5=J4+t^C;ba9d!E0<+3-$Hv_}bA)@An*"
    "VvYKf`z&?<666KYLa6gDi2b4@ygo($bm;X2EKX(8^z!7f0J@Pcx2=jjniRZ^YA{b3*dGyHn<wROhMDSY6l=WxQUM{w?E"
    "m3LErM9aH_bp_DVVvi)5a`M{n(AHnZ5"
    ),
}


def written(obj, **kwargs):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **kwargs)
    return buffer.getvalue()


def read(data, **kwargs):
    return torch.load(io.BytesIO(data), **kwargs)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_file_of_the_reference(form, weights_only):
    got = read(zlib.decompress(base64.b85decode(REFERENCE[form])), weights_only=weights_only)
    assert type(got) is collections.OrderedDict and list(got) == ["w", "t", "p", "i", "n", "c"]
    assert got["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert got["t"].stride() == (1, 3)
    assert got["t"].data_ptr() == got["w"].data_ptr()
    assert type(got["p"]) is torch.nn.Parameter and got["p"].dtype == torch.bfloat16
    assert got["p"].requires_grad and got["i"].tolist() == [7, -1] and got["n"] == 3
    assert got["c"].is_conj() and got["c"].resolve_conj().tolist() == [1 - 2j]


def test_archive_has_the_records_of_the_reference():
    ours = written(collections.OrderedDict(w=torch.ones(3), v=torch.ones(2)))
    archive = zipfile.ZipFile(io.BytesIO(ours))
    assert archive.testzip() is None
    assert archive.namelist() == [
        "archive/" + n for n in ("data.pkl", ".format_version", ".storage_alignment", "byteorder",
                                 "data/0", "data/1", "version", ".data/serialization_id")]
    assert archive.read("archive/version") == b"3\n"
    assert archive.read("archive/byteorder") == b"little"
    assert archive.read("archive/data/0") == struct.pack("<3f", 1, 1, 1)
    for info in archive.infolist():
        assert info.compress_type == zipfile.ZIP_STORED
        names, extra = struct.unpack_from("<HH", ours, info.header_offset + 26)
        assert (info.header_offset + 30 + names + extra) % 64 == 0
    pickled = archive.read("archive/data.pkl")
    assert b"ctorch._utils\n_rebuild_tensor_v2\n" in pickled
    assert b"ctorch\nFloatStorage\n" in pickled


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "int64", "int32",
                                  "int16", "int8", "uint8", "bool", "complex64", "complex128"])
def test_every_dtype_goes_round(name, weights_only, legacy):
    t = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, name)).t()
    got = read(written(t, _use_new_zipfile_serialization=not legacy), weights_only=weights_only)
    assert got.dtype == t.dtype and got.stride() == t.stride() and got.tolist() == t.tolist()


def test_containers_and_flags_go_round():
    obj = {"a": [1, 2.5, None, True, b"xyz\xff", "\u00e4", -(2 ** 80), 70000], 3: (1, (2, 3)),
           "s": {4, 5}, "c": 1 + 2j, "size": torch.Size([2, 3]), "dtype": torch.float16,
           "device": torch.device("cpu"), "o": collections.Counter("aab"), "e": torch.empty(0, 3)}
    for weights_only in (True, False):
        got = read(written(obj), weights_only=weights_only)
        assert got["e"].shape == (0, 3)
        assert {k: v for k, v in got.items() if k != "e"} == \
            {k: v for k, v in obj.items() if k != "e"}
    p = read(written(torch.nn.Parameter(torch.ones(2), requires_grad=False)))
    assert type(p) is torch.nn.Parameter and not p.requires_grad
    meta = read(written(torch.empty(2, 3, device="meta")))
    assert meta.device.type == "meta" and meta.shape == (2, 3)


def test_shared_storages_stay_shared_and_are_written_once():
    w = torch.zeros(1000)
    data = written([w, w[10:20], w.view(10, 100)])
    assert len(data) < 4000 + 3000
    a, b, c = read(data)
    a[10] = 7
    assert b[0].item() == 7 and c[0, 10].item() == 7
    with pytest.raises(RuntimeError, match="dtypes"):
        written([w, w.view(torch.int32)])


def test_map_location(tmp_path):
    path = tmp_path / "m.pt"
    torch.save({"w": torch.ones(2)}, path)
    assert torch.load(path, map_location="meta")["w"].device.type == "meta"
    seen = []
    torch.load(path, map_location=lambda storage, where: seen.append(where) or storage)
    assert seen == ["cpu"]
    for where in (torch.device("cpu"), {"cpu": "cpu"}, "cpu"):
        assert torch.load(path, map_location=where)["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="bogus"):
        torch.load(path, map_location="bogus")


def test_mapped_file_is_private(tmp_path):
    path = tmp_path / "m.pt"
    torch.save({"w": torch.arange(5.0), "e": torch.empty(0)}, path)
    got = torch.load(path, mmap=True)
    assert got["w"].tolist() == [0, 1, 2, 3, 4] and got["e"].numel() == 0
    got["w"].fill_(9)
    assert torch.load(path)["w"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="path"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)


class Point:
    def __init__(self):
        self.x = 1


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("never",))


def test_a_file_builds_only_what_is_allowed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = written(Point())
    with pytest.raises(pickle.UnpicklingError, match="Point"):
        read(data)
    name = f"{Point.__module__}.Point"
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == [name]
    with serialization.safe_globals([Point]):
        assert read(data).x == 1
    with pytest.raises(pickle.UnpicklingError):
        read(data)
    assert read(data, weights_only=False).x == 1
    with pytest.raises(pickle.UnpicklingError, match="mkdir"):
        read(written(Evil()))
    assert not os.path.exists("never")


@pytest.mark.parametrize("pickled", [
    b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(cbuiltins\nset\n.",
    b"\x80\x02ctorch\nTensor\n)R.",                 # calling what is only a name
    b"\x80\x02ctorch._utils\n_rebuild_tensor\n}X\x01\x00\x00\x00aK\x01sb.",  # changing a function
    b"\x80\x02ctorch\nTensor\n}X\x01\x00\x00\x00aK\x01sb.",                 # changing a class
    b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
    b"\x80\x02]K\x01K\x02s.", b"\x80\x02t.", b"\x80\x02h\x05.", b"\x80\x02K\x01K\x02.",
    b"\x80\x02X\xff\xff\xff\xffabc."])
def test_crafted_pickles_are_refused(pickled):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
    with pytest.raises((pickle.UnpicklingError, EOFError)):
        read(buffer.getvalue())
    assert not hasattr(torch.Tensor, "a")


def test_every_truncation_is_an_error_that_names_the_record():
    data = written({"w": torch.arange(100.0)})
    for cut in range(4, len(data), 61):
        with pytest.raises(RuntimeError, match="damaged"):
            read(data[:cut])
    at = data.index(struct.pack("<4f", 0, 1, 2, 3))
    with pytest.raises(RuntimeError, match="data/0"):
        read(data[:at + 10])
    changed = bytearray(data)
    changed[at + 5] ^= 1
    with pytest.raises(RuntimeError, match="data/0 do not match its checksum"):
        read(bytes(changed))
    for junk in (b"", b"garbage"):
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            read(junk)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.pt"
    torch.save({"w": torch.ones(1)}, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        torch.save({"w": torch.zeros(1), "f": lambda: 0}, path)
    assert torch.load(path)["w"].item() == 1
    assert os.listdir(tmp_path) == ["m.pt"]
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.save(1, tmp_path / "no" / "m.pt")
    with pytest.raises(AttributeError):
        torch.save(1, 3)


def test_module_and_optimizer_go_round(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    opt.step()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, tmp_path / "c.pt")
    got = torch.load(tmp_path / "c.pt")
    assert got["model"]["weight"].tolist() == model.weight.tolist()
    assert got["opt"]["state"][0]["step"].item() == 1
    torch.save(model, tmp_path / "m.pt")
    whole = torch.load(tmp_path / "m.pt", weights_only=False)
    assert whole(torch.ones(1, 3)).tolist() == model(torch.ones(1, 3)).tolist()


def test_plain_pickle_and_storages():
    t = pickle.loads(pickle.dumps(torch.arange(3)))
    assert t.tolist() == [0, 1, 2]
    storage = torch.ones(2).storage()
    assert isinstance(storage, torch.FloatStorage) and storage.tolist() == [1.0, 1.0]
    assert storage.type() == "torch.FloatStorage" and len(storage) == 2 and storage[1] == 1.0
    assert read(written(storage), weights_only=False).tolist() == [1.0, 1.0]
    assert torch.LongStorage([1, 2]).tolist() == [1, 2]
