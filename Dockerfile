# Builds Waypost, then copies the program into an image without the build tools.
# The result has native code for every platform, so the build runs on the builder's own.
FROM --platform=$BUILDPLATFORM node:24-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY src src
COPY test/tools test/tools
COPY docs docs
COPY llms.txt ./
RUN npm run build

FROM node:24-slim
LABEL org.opencontainers.image.title="Waypost" \
      org.opencontainers.image.description="Dynamic links that an assistant can manage" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=build /src/dist dist
RUN mkdir /data && chown node:node /data && chmod 700 /data
USER node
VOLUME /data
ENV NODE_ENV=production WAYPOST_DATA=/data WAYPOST_HOST=0.0.0.0
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "dist/waypost.js", "health"]
ENTRYPOINT ["node", "/app/dist/waypost.js"]
CMD ["serve"]
