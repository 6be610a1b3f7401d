# The command as one static file, and nothing else. `ci/musl.sh image` builds it and tries it; by hand:
#   cargo build --release -p sluicegate-cli --all-features --target x86_64-unknown-linux-musl
#   docker build -f Dockerfile -t sluicegate target/x86_64-unknown-linux-musl/release
#   docker run -p 127.0.0.1:8080:8080 -v ./limits:/etc/sluicegate:ro sluicegate serve --listen 0.0.0.0:8080 --policy /etc/sluicegate/limits.toml
# The folder is mounted, and not the file: a file that is put in its place would not be seen.
FROM scratch
COPY sluicegate /sluicegate
USER 65534:65534
EXPOSE 8080
ENTRYPOINT ["/sluicegate"]
CMD ["serve", "--listen", "0.0.0.0:8080"]
