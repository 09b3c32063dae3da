# nmt on CPUs. In a clone of the repository:
#
#     docker build -f recipes/docker/cpu.Dockerfile --build-arg TORCH_INDEX=URL -t nmt:cpu .
#
# TORCH_INDEX is the package index of torch's CPU build (see pytorch.org/get-started/locally);
# without it, pip installs the default build, which brings several GB of CUDA libraries.
FROM python:3.11-slim-bookworm AS build
ARG TORCH_INDEX=""
COPY . /src
RUN python -m venv /opt/nmt \
    && if [ -n "$TORCH_INDEX" ]; then \
         /opt/nmt/bin/pip install --no-cache-dir -c /src/constraints.txt --index-url "$TORCH_INDEX" torch; \
       fi \
    && /opt/nmt/bin/pip install --no-cache-dir -c /src/constraints.txt '/src[documents,serve,zstd]'

FROM python:3.11-slim-bookworm
# The C compiler makes nmt's kernels for the processor that the container meets.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin nmt
COPY --from=build /opt/nmt /opt/nmt
# The root may be read-only: only /tmp and the mounted /data are written.
ENV PATH=/opt/nmt/bin:$PATH XDG_CACHE_HOME=/tmp/cache PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["nmt"]
CMD ["--help"]
