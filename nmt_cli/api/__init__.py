"""The functions that Python users call, one module each; `nmt_cli` exports them."""
