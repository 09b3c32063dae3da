"""`python -m nmt_cli` is `nmt`."""

from nmt_cli.cli import run

if __name__ == "__main__":
    run()
