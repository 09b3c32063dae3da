# nmt on NVIDIA GPUs. In a clone of the repository:
#
#     docker build -f recipes/docker/cuda.Dockerfile -t nmt:cuda .
#     docker run --gpus all --shm-size 8g --user "$(id -u):$(id -g)" -v "$PWD:/data" nmt:cuda train
#
# Without --user, the user 10001 must be able to write to the folder.
# torch's default build brings its CUDA libraries; the machine needs only the driver and the
# NVIDIA container toolkit.
FROM python:3.11-slim-bookworm AS build
COPY . /src
RUN python -m venv /opt/nmt \
    && /opt/nmt/bin/pip install --no-cache-dir -c /src/constraints.txt '/src[documents,serve,zstd]'

FROM python:3.11-slim-bookworm
# The C compiler is for Triton's launchers, and for nmt's kernels on the CPU.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin nmt
COPY --from=build /opt/nmt /opt/nmt
# The root may be read-only: only /tmp and the mounted /data are written.
ENV PATH=/opt/nmt/bin:$PATH XDG_CACHE_HOME=/tmp/cache TRITON_CACHE_DIR=/tmp/cache/triton \
    TORCHINDUCTOR_CACHE_DIR=/tmp/cache/inductor PYTHONDONTWRITEBYTECODE=1 \
    NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["nmt"]
CMD ["--help"]
