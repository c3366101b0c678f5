"""Functions of a vector of four elements that the tests of nested transforms take apart: parts, writes, writes to views."""


def product(v):
    return v[0] * v[1] + v[2].sin() * v[3]


def in_place(v):
    b = v.clone()
    b[0].mul_(v[1])
    b.view(2, 2).t().add_(v[2])
    return (b * v).sum()


def written_rows(v):
    z = v.new_zeros(2, 4)
    z[1] = v * v
    z[0, 1:3] = v[:2]
    return z.cumsum(1).sum() * v[0]
