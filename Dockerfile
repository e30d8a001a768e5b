# The program alone, static, as a user without rights: docker run --rm -v "$PWD:/data" rhograd train data.csv --epsilon 1
FROM rust:1.89-alpine AS build
RUN apk add --no-cache bash gcc make musl-dev
WORKDIR /rhograd
COPY . .
RUN cargo build --release --locked --package rhograd && .ci/notices > NOTICES.txt

FROM scratch
COPY --from=build /rhograd/target/release/rhograd /usr/bin/rhograd
COPY --from=build /rhograd/LICENSE-APACHE /rhograd/LICENSE-MIT /rhograd/NOTICES.txt /usr/share/doc/rhograd/
# Files that are streamed go beside the data.
ENV TMPDIR=/data
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/bin/rhograd"]
