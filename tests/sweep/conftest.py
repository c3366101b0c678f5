def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="layouts in every type, gradients one element at a time")


def pytest_configure(config):
    from sweep import columns

    columns.FULL = config.getoption("--full")
