"""The archive that holds saved tensors: a zip file without compression, its records aligned.

Written by hand, so that each record starts at a multiple of the alignment and nothing is buffered;
read with the standard library's list of records and direct reads of their bytes.
"""

import struct
import zipfile
import zlib

_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END64, _LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
_MAX32 = 0xFFFFFFFF
_UTF8 = 0x800
_DAY = (1 << 5) | 1  # 1 January 1980, so that equal contents give equal files


class ZipWriter:
    """Writes records to a file object, front to back, without seeking."""

    def __init__(self, file, name="archive", alignment=64, checksums=True):
        self.file, self.name, self.alignment, self.checksums = file, name, alignment, checksums
        self.at = 0
        self.entries = []

    def _put(self, data):
        self.file.write(data)
        self.at += data.nbytes if isinstance(data, memoryview) else len(data)

    def write_record(self, name, data):
        """One record `name` (below the archive's name) with the bytes of `data`, a buffer."""
        data = memoryview(data).cast("B") if len(data) else memoryview(b"")
        full = f"{self.name}/{name}".encode()
        size = data.nbytes
        crc = zlib.crc32(data) if self.checksums else 0
        start = self.at
        big = size >= _MAX32
        extra = struct.pack("<HHQQ", 1, 16, size, size) if big else b""
        body = start + 30 + len(full) + len(extra)
        # The padding is an extra field of its own, which takes 4 bytes at least.
        pad = -(body + 4) % self.alignment
        extra += b"FB" + struct.pack("<H", pad) + b"Z" * pad
        small = _MAX32 if big else size
        self._put(struct.pack("<4sHHHHHIIIHH", _LOCAL, 45 if big else 20, _UTF8, 0, 0, _DAY, crc,
                              small, small, len(full), len(extra)) + full + extra)
        self._put(data)
        self.entries.append((full, crc, size, start))

    def close(self):
        """Writes the list of records. The file stays open."""
        start = self.at
        for full, crc, size, offset in self.entries:
            fields = [v for v in (size, size, offset) if v >= _MAX32]
            extra = struct.pack(f"<HH{len(fields)}Q", 1, 8 * len(fields), *fields) \
                if fields else b""
            small = min(size, _MAX32)
            self._put(struct.pack("<4sHHHHHHIIIHHHHHII", _CENTRAL, 45 if fields else 20,
                                  45 if fields else 20, _UTF8, 0, 0, _DAY, crc, small, small,
                                  len(full), len(extra), 0, 0, 0, 0, min(offset, _MAX32))
                      + full + extra)
        size, count = self.at - start, len(self.entries)
        if start >= _MAX32 or size >= _MAX32 or count >= 0xFFFF:
            end = self.at
            self._put(struct.pack("<4sQHHIIQQQQ", _END64, 44, 45, 45, 0, 0, count, count, size,
                                  start))
            self._put(struct.pack("<4sIQI", _LOCATOR64, 0, end, 1))
        self._put(struct.pack("<4sHHHHIIH", _END, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
                              min(size, _MAX32), min(start, _MAX32), 0))


class DamagedArchive(RuntimeError):
    """The archive does not hold what its list of records says."""


class ZipReader:
    """Reads records of an archive from a seekable file object.

    `label` names the file in errors. Raises DamagedArchive, naming the record, for an archive that
    was cut off or changed.
    """

    def __init__(self, file, label="the file"):
        self.file, self.label = file, label
        file.seek(0, 2)
        self.end = file.tell()
        try:
            with zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError,
                EOFError) as error:
            raise DamagedArchive(f"{label} is damaged: {self._where_cut(error)}") from None
        if not infos:
            raise DamagedArchive(f"{label} is an archive without records")
        self.name = infos[0].filename.split("/", 1)[0]
        self.infos = {}
        for info in infos:
            name = info.filename
            if name.startswith(self.name + "/"):
                name = name[len(self.name) + 1:]
            self.infos[name] = info

    def _where_cut(self, error):
        """Follows the records from the start to the one in which the file ends."""
        file = self.file
        file.seek(0, 2)
        end, at, last = file.tell(), 0, None
        while at + 30 <= end:
            file.seek(at)
            head = file.read(30)
            if head[:4] != _LOCAL:
                break
            flags = struct.unpack_from("<H", head, 6)[0]
            size, names, extra = struct.unpack_from("<IHH", head, 18)[0:1] + struct.unpack_from(
                "<HH", head, 26)
            last = file.read(names).decode("utf-8", "replace")
            more = file.read(extra)
            if size == _MAX32 and more[:2] == b"\1\0" and len(more) >= 12:
                size = struct.unpack_from("<Q", more, 4)[0]
            if flags & 8:
                return (f"it ends after {end} bytes, in or after the record {last}, without the "
                        "list of its records")
            at += 30 + names + extra + size
            if at > end:
                return f"it ends after {end} bytes, within the record {last}, {at - end} too early"
        if last is not None:
            return f"it ends after {end} bytes, after the record {last}, without their list"
        return str(error)

    def __contains__(self, name):
        return name in self.infos

    def names(self):
        return list(self.infos)

    def size(self, name):
        return self._info(name).file_size

    def _info(self, name):
        try:
            return self.infos[name]
        except KeyError:
            raise DamagedArchive(f"{self.label} has no record {self.name}/{name}") from None

    def offset(self, name):
        """Where the bytes of the record begin in the file."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            raise DamagedArchive(f"the record {info.filename} of {self.label} is compressed")
        head = b""
        if info.header_offset >= 0:
            self.file.seek(info.header_offset)
            head = self.file.read(30)
        if len(head) != 30 or head[:4] != _LOCAL:
            raise DamagedArchive(f"{self.label} is damaged: the record {info.filename} does not "
                                 f"begin at byte {info.header_offset}")
        names, extra = struct.unpack_from("<HH", head, 26)
        start = info.header_offset + 30 + names + extra
        if start + info.file_size > self.end:
            raise DamagedArchive(f"{self.label} is damaged: it ends after {self.end} bytes, before "
                                 f"the end of the record {info.filename}")
        return start

    def read_into(self, name, out):
        """Fills the buffer `out`, as long as the record."""
        info = self._info(name)
        if out.nbytes != info.file_size:
            raise DamagedArchive(f"the record {info.filename} of {self.label} has "
                                 f"{info.file_size} bytes, expected {out.nbytes}")
        self.file.seek(self.offset(name))
        done = 0
        readinto = getattr(self.file, "readinto", None)
        while done < out.nbytes:
            if readinto is not None:
                got = readinto(out[done:])
            else:
                part = self.file.read(out.nbytes - done)
                got = len(part)
                out[done:done + got] = part
            if not got:
                raise DamagedArchive(f"{self.label} is damaged: the record {info.filename} ends "
                                     f"after {done} of {info.file_size} bytes")
            done += got
        if info.CRC and zlib.crc32(out) != info.CRC:
            raise DamagedArchive(f"{self.label} is damaged: the bytes of the record "
                                 f"{info.filename} do not match its checksum")

    def read(self, name):
        """The bytes of a record."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            try:
                with zipfile.ZipFile(self.file) as archive:
                    return archive.read(info)
            except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError) as error:
                raise DamagedArchive(f"{self.label} is damaged: the record {info.filename}: "
                                     f"{error}") from None
        self.offset(name)  # before room is made for a size that may be wrong
        out = bytearray(info.file_size)
        self.read_into(name, memoryview(out))
        return bytes(out)
