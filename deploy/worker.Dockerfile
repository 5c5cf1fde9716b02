# SPDX-License-Identifier: Apache-2.0
# A worker as a container's first process:   docker build -t code-execute/worker -f deploy/worker.Dockerfile .
# (--build-arg VARIANT=minimal|full|large: the interpreters that its runs have, as those of the sandbox image). docs/scale.md says what
# the container needs of its engine or pod; `code-execute-worker --check` tries that out.
FROM debian:12-slim AS build
COPY . /source
WORKDIR /source
RUN scripts/install-packages build \
    && meson setup /build --prefix=/usr/local --libdir=lib --buildtype=release -Dtests=false -Dremote=enabled -Dline_editing=disabled \
    && meson install -C /build --destdir /installed
# What a gateway starts and no worker does is left out, and with it the libraries that it alone needs.
RUN cd /installed/usr/local/lib/code-execute \
    && rm -f code_execute.so code-execute-egress code-execute-environment code-execute-kubernetes code-execute-remote code-execute-secret

FROM debian:12-slim
ARG VARIANT=full
COPY policies/image/list-packages policies/image/packages /list/
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       libjansson4 libmd0 libseccomp2 libssl3 libcurl4 libmicrohttpd12 $(/list/list-packages "$VARIANT") \
    && rm -rf /list /var/lib/apt/lists/*
COPY --from=build /installed/usr/local/lib/code-execute /usr/local/lib/code-execute
USER 65534:65534
EXPOSE 7443 9443
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/lib/code-execute/code-execute-worker"]
CMD ["--config", "/etc/code-execute-worker/worker.json"]
