# The service with a browser and fonts for all scripts, as an unprivileged user. docs/running.md, Docker.
# docker build -t stillframe .        or, for both platforms: docker buildx build --platform linux/amd64,linux/arm64 -t stillframe .
FROM node:24-bookworm AS build
WORKDIR /app
COPY package.json package-lock.json ./
# The database driver is compiled only on platforms without a prebuilt binary.
RUN npm ci --ignore-scripts && (node -e "new (require('better-sqlite3'))(':memory:')" || npm rebuild better-sqlite3)
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim
# Empty: the newest. Debian's archive has no older ones, so a version here serves builds from an archive of your own.
ARG CHROMIUM_VERSION=
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium-headless-shell${CHROMIUM_VERSION:+=$CHROMIUM_VERSION} fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji tini \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin stillframe \
    && install -d -o stillframe -g stillframe -m 0700 /data
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/drizzle ./drizzle
COPY --from=build /app/drizzle-pg ./drizzle-pg
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN ln -s /app/dist/main.js /usr/local/bin/stillframe
ENV NODE_ENV=production STILLFRAME_HOST=0.0.0.0 STILLFRAME_PORT=3000 STILLFRAME_DATA_DIR=/data STILLFRAME_BROWSER_INSTALL=false
USER stillframe
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.STILLFRAME_PORT + '/v1/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/bin/tini", "--", "stillframe"]
CMD ["serve"]
