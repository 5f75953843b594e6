# Three images from one file: `magpie` (the server and worker), `simulator` (the upstream simulator, for tests and demos)
# and `tests` (the toolchain with the built tests). Steps that install packages do nothing when the base has them already.

FROM swift:6.3-bookworm AS source
RUN dpkg -s pkg-config libpq-dev libcurl4-openssl-dev libssl-dev zlib1g-dev >/dev/null 2>&1 || { \
      apt-get update && apt-get install -y --no-install-recommends \
        pkg-config libpq-dev libcurl4-openssl-dev libssl-dev zlib1g-dev && rm -rf /var/lib/apt/lists/*; }
WORKDIR /src
COPY Package.swift ./
COPY sql sql
COPY Sources Sources
COPY Tests Tests
COPY Benchmarks/queue Benchmarks/queue

FROM source AS release
RUN swift build -c release --static-swift-stdlib --product magpie && \
    swift build -c release --static-swift-stdlib --product upstream-simulator && \
    install -Ds -t /out .build/release/magpie .build/release/upstream-simulator

FROM source AS tests
RUN swift build --build-tests && useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin magpie
USER magpie
# The test program itself: `swift test` would keep its output back until the end, and .ci/stack-test reads along.
CMD [".build/debug/magpiePackageTests.xctest", "--testing-library", "swift-testing", "--filter", "StackTests"]

FROM debian:bookworm-slim AS runtime
RUN dpkg -s ca-certificates curl libpq5 libcurl4 libssl3 libstdc++6 zlib1g >/dev/null 2>&1 || { \
      apt-get update && apt-get install -y --no-install-recommends \
        ca-certificates curl libpq5 libcurl4 libssl3 libstdc++6 zlib1g && rm -rf /var/lib/apt/lists/*; }
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin magpie
USER magpie

FROM runtime AS simulator
COPY --from=release /out/upstream-simulator /usr/local/bin/
EXPOSE 8090
ENTRYPOINT ["upstream-simulator"]
CMD ["--listen", "0.0.0.0:8090"]

FROM runtime AS magpie
COPY --from=release /out/magpie /usr/local/bin/
# Inside a container, loopback would be out of everybody's reach. The admin address is for the engine's health checks
# and a scraper on the same network; it is not published.
ENV MAGPIE_LISTEN=0.0.0.0:8080 MAGPIE_ADMIN_LISTEN=0.0.0.0:8081
EXPOSE 8080 8081
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8081/readyz"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["magpie"]
CMD ["serve"]
