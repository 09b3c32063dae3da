"""Settings of the benchmarks' models; this module needs no torch."""

from collections.abc import Mapping

from nmt_cli.config.schema import Config, SettingsLayer, resolve


def make_config(values: Mapping[str, object]) -> Config:
    """Settings over the defaults, checked like any others."""
    return resolve([SettingsLayer("benchmark", values)]).config
