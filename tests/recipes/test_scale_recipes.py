"""Containers and manifests: safe settings, options that exist, the shell of a part."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import signal
import subprocess
from configparser import ConfigParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from nmt_cli.cli import docs, signals
from nmt_cli.cli.exit_codes import exit_codes

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "recipes"
DOCKERFILES = sorted((RECIPES / "docker").glob("*.Dockerfile"))
COMPOSE = yaml.safe_load((RECIPES / "docker/compose.yaml").read_text())
MANIFESTS: dict[str, list[dict[str, Any]]] = {
    path.name: list(yaml.safe_load_all(path.read_text()))
    for path in sorted((RECIPES / "kubernetes").glob("*.yaml"))
}
JOBS = {
    name: document
    for name, documents in MANIFESTS.items()
    for document in documents
    if document["kind"] in ("Job", "Deployment")
}
OPTIONS = {
    path.split()[-1]: {name for parameter in command.params for name in parameter.opts}
    for path, command, _ in docs.walk_commands()
}


def container(job: dict[str, Any]) -> dict[str, Any]:
    [only] = job["spec"]["template"]["spec"]["containers"]
    return dict(only)


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_images_run_as_another_user_and_contain_the_package_alone(path: Path) -> None:
    lines = path.read_text().replace("\\\n", " ").splitlines()
    *_, user = (line.split()[1] for line in lines if line.startswith("USER"))
    assert user == "10001:10001"
    assert any("--uid 10001" in line for line in lines)
    assert [line for line in lines if line.startswith("ENTRYPOINT")] == ['ENTRYPOINT ["nmt"]']
    installs = [line for line in lines if "pip install " in line and line[0] != "#"]
    assert all("-c /src/constraints.txt" in part for line in installs
               for part in line.split("&&") if "pip install" in part)  # fmt: skip
    [environment] = [line for line in lines if line.startswith("ENV PATH")]
    assert "XDG_CACHE_HOME=/tmp/cache" in environment


def test_images_get_only_what_the_package_is_built_from() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert all((ROOT / name).exists() for name in kept)
    project = (ROOT / "pyproject.toml").read_text()
    named = {"nmt_cli", "pyproject.toml", "constraints.txt"}
    named |= set(re.findall(r'^(?:readme = |license-files = \[)"([^"]+)"', project, re.MULTILINE))
    named |= set(re.findall(r'^"(docs/\w+)" = ', project, re.MULTILINE))
    assert kept == named


@pytest.mark.parametrize("name", JOBS)
def test_jobs_have_a_read_only_root_and_no_privileges(name: str) -> None:
    pod = JOBS[name]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["automountServiceAccountToken"] is False
    assert container(JOBS[name])["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    mounted = {mount["name"]: mount["mountPath"] for mount in container(JOBS[name])["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounted)
    # nmt compiles its kernels there.
    assert mounted["tmp"] == "/tmp"


def test_services_of_compose_have_a_read_only_root_and_no_network() -> None:
    for service in COMPOSE["services"].values():
        assert service["read_only"] is True
        assert service["user"] == "10001:10001"
        assert service["cap_drop"] == ["ALL"]
        assert service["network_mode"] == ("bridge" if "ports" in service else "none")
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        assert service["tmpfs"] == ["/tmp:exec"]


def words_of(job: dict[str, Any]) -> list[str]:
    given = container(job)
    return re.findall(r"[^\s=]+", " ".join([*given.get("command", []), *map(str, given["args"])]))


def test_commands_have_options_that_exist() -> None:
    commands = {name: words_of(job) for name, job in JOBS.items()}
    commands |= {name: service["command"] for name, service in COMPOSE["services"].items()}
    for name, words in commands.items():
        [command] = [word for word in words if word in ("translate", "train", "serve")]
        own = words[words.index(command) :]
        options = {word for word in own if word.startswith("--")}
        assert options <= OPTIONS[command], name
    parts = [
        service["command"][3] for name, service in COMPOSE["services"].items() if "part" in name
    ]
    assert parts == [f"{number}/4" for number in range(1, 5)]


def test_a_job_translates_its_part_once(tmp_path: Path) -> None:
    job = JOBS["translate.yaml"]
    assert job["spec"]["completions"] == 32
    [command, option] = container(job)["command"]
    [script] = container(job)["args"]
    recorder = tmp_path / "bin" / "nmt"
    recorder.parent.mkdir()
    recorder.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >> calls\n')
    recorder.chmod(0o755)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "text.2-of-32.de").touch()
    path = f"{recorder.parent}:{os.environ['PATH']}"
    for index in (0, 1, 31):
        subprocess.run(
            [command, option, script], cwd=tmp_path, check=True,
            env={"PATH": path, "JOB_COMPLETION_INDEX": str(index)},
        )  # fmt: skip
    calls = (tmp_path / "calls").read_text().splitlines()
    ends = "-o out/text.{part}.de --precision int8 --stats"
    assert calls == [f"translate text.en --part {part}/32 {ends}" for part in (1, 32)]
    join = container(JOBS["join.yaml"])["args"]
    assert "out/text.{part}.de" in join


def test_a_job_fails_at_once_for_what_stays_wrong() -> None:
    rule, *_ = JOBS["translate.yaml"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["values"] == [2, 65, 66, 73, 78]
    assert set(rule["onExitCodes"]["values"]) <= set(exit_codes())


def test_the_server_is_reached_at_its_port_and_asked_whether_it_is_ready() -> None:
    service, deployment = MANIFESTS["serve.yaml"]
    server = container(deployment)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"] == labels
    [serve] = [command for path, command, _ in docs.walk_commands() if path == "nmt serve"]
    [default] = [parameter.default for parameter in serve.params if parameter.name == "port"]
    probes = [
        server[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")
    ]
    assert [probe["path"] for probe in probes] == ["/readyz", "/readyz", "/healthz"]
    ports = {server["ports"][0]["containerPort"], service["spec"]["ports"][0]["port"]}
    assert ports | {probe["port"] for probe in probes} == {default}
    # It drains for 10 s.
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > 10


def test_unit_of_systemd_starts_a_server_again_that_crashed_but_not_a_wrong_one() -> None:
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(RECIPES / "systemd/nmt.service")
    service = unit["Service"]
    program, command, _, *options = service["ExecStart"].split()
    assert (program, command) == ("/opt/nmt/bin/nmt", "serve")
    assert {word for word in options if word.startswith("--")} <= OPTIONS["serve"]
    name, _, path = service["LoadCredential"].partition(":")
    assert f"${{CREDENTIALS_DIRECTORY}}/{name}" in options
    assert path.endswith(f"/{name}")
    assert service["Restart"] == "on-failure"
    stays_wrong = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert stays_wrong == {2, 65, 66, 69, 73, 78} <= set(exit_codes())
    assert int(service["SuccessExitStatus"]) == signals.EXIT_CODES[signal.SIGHUP]
    # It drains for 10 s.
    assert int(service["TimeoutStopSec"]) > 10


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (RECIPES / "systemd/nmt.service").read_text()
    unit = tmp_path / "nmt.service"
    # It must exist to be accepted.
    unit.write_text(text.replace("/opt/nmt/bin/nmt", "/bin/true"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_training_meets_at_the_service_of_the_first_pod() -> None:
    service, job = MANIFESTS["train.yaml"]
    name = service["metadata"]["name"]
    pod = job["spec"]["template"]["spec"]
    arguments = container(job)["args"]
    assert service["spec"]["clusterIP"] == "None"
    assert pod["subdomain"] == name
    port = service["spec"]["ports"][0]["port"]
    assert f"--rdzv-endpoint={job['metadata']['name']}-0.{name}:{port}" in arguments
    assert f"--nnodes={job['spec']['completions']}" in arguments
    gpus = container(job)["resources"]["limits"]["nvidia.com/gpu"]
    assert f"--nproc-per-node={gpus}" in arguments
    # Ranks save when they get SIGTERM.
    assert pod["terminationGracePeriodSeconds"] >= 300


class Shouting:
    """A translator in capitals, loaded like the real one."""

    @classmethod
    def load(cls, _model: str, _device: str) -> Shouting:
        return cls()

    def translate(self, lines: list[str]) -> list[Any]:
        return [SimpleNamespace(text=line.upper()) for line in lines]


def test_actor_of_ray_keeps_nulls_and_translates_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.Translator", Shouting)
    monkeypatch.setattr("torch.set_num_threads", lambda _: None)
    actor = runpy.run_path(str(RECIPES / "ray" / "nmt_ray.py"))["Translating"]("model", "text")
    column = np.array(["a", None, "", float("nan"), "b"], dtype=object)
    batch = {"id": np.arange(5), "text": column}
    result = actor(batch)
    assert list(result) == ["id", "text", "translation"]
    assert result["translation"].tolist() == ["A", None, "", None, "B"]
    nothing = actor({"text": np.array([None], dtype=object)})
    assert nothing["translation"].tolist() == [None]
