import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { secureExample } from "../support/certificates.ts";
import { createFolder, createUsedFolder, run } from "../support/command.ts";
import { findFreePort } from "../support/ports.ts";
import { startCaddy } from "./caddy.ts";
import { noCertificate, startProxy, type Proxy } from "./proxy.ts";

/** The files for running on a server: each is valid and fits the others. */

const compose = parse(readFileSync("compose.yaml", "utf8"));
const hasCaddy = spawnSync("caddy", ["version"]).status === 0;
const hasNginx = spawnSync("nginx", ["-v"]).status === 0;
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

test("compose.yaml follows the Compose specification", () => {
  const path = "test/node_modules/dclint/schemas/compose.schema.json";
  const { $schema: _, ...schema } = JSON.parse(readFileSync(path, "utf8"));
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const check = ajv.compile(schema);
  check(compose);
  expect(check.errors).toBeNull();
  expect(check({ ...compose, services: { waypost: { volume: [] } } })).toBe(false);
});

test("compose.yaml gives Waypost a read-only file system, no capabilities and a volume", () => {
  const { waypost, caddy, postgres } = compose.services;
  expect(waypost).toMatchObject({
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    volumes: ["data:/data"],
  });
  expect(waypost).not.toHaveProperty("ports");
  expect(caddy.depends_on).toEqual({ waypost: { condition: "service_healthy" } });
  expect(postgres.profiles).toEqual(["postgres"]);
});

describe("a server with the settings from compose.yaml", () => {
  test("serves links behind a proxy that asks it which hosts to accept", async () => {
    await openLinkThrough(startProxy);
  });

  test("serves links behind Caddy", async (context) => {
    context.skip(!hasCaddy, "Caddy is not installed");
    await openLinkThrough(startCaddy);
  });
});

async function openLinkThrough(start: (upstream: number) => Promise<Proxy>): Promise<void> {
  await using folder = await createFolder();
  const port = await findFreePort();
  const names = {
    WAYPOST_PUBLIC_URL: "https://waypost.example.com",
    WAYPOST_LINK_ORIGIN: "https://{subdomain}.links.example.com",
  };
  const { environment } = compose.services.waypost;
  const env = {
    ...fill(environment, names),
    // The containers' network does not exist here.
    WAYPOST_TRUSTED_PROXIES: "loopback",
    WAYPOST_DATA: folder.path,
    WAYPOST_PORT: String(port),
    PATH: process.env["PATH"] ?? "",
  };
  const server = spawn(process.execPath, ["dist/waypost.js", "serve"], { env, stdio: "ignore" });
  try {
    const isReady = async () => (await run(["health", "--port", String(port)])).code === 0;
    await expect.poll(isReady, { timeout: 60_000, interval: 200 }).toBe(true);
    await using proxy = await start(port);
    const key = readFileSync(`${folder.path}/owner.key`, "utf8").trim();
    const made = await proxy.send("waypost.example.com", "/api/v1/links", {
      key,
      body: { path: "spring", url: "https://example.com/sale" },
    });
    expect(made.status).toBe(201);
    const visited = await proxy.send("default.links.example.com", "/spring");
    expect(visited).toMatchObject({ status: 302, location: "https://example.com/sale" });
    expect((await proxy.send("evil.example", "/spring")).status).toBe(noCertificate);
    const asked = await proxy.send("waypost.example.com", "/tls/ask?domain=waypost.example.com");
    expect(asked.status).toBe(404);
  } finally {
    server.kill("SIGKILL");
  }
}

test("Caddy accepts deploy/Caddyfile", (context) => {
  context.skip(!hasCaddy, "Caddy is not installed");
  const words = ["validate", "--adapter", "caddyfile", "--config", "deploy/Caddyfile"];
  const { status, stderr } = spawnSync("caddy", words, { encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 0 });
});

test("deploy/Caddyfile makes Caddy ask Waypost before it requests a certificate", () => {
  const text = readFileSync("deploy/Caddyfile", "utf8");
  expect(text).toContain("ask http://{$WAYPOST_UPSTREAM:127.0.0.1:8787}/tls/ask\n");
  expect(text.split("{").length).toBe(text.split("}").length);
});

test("Caddy in compose.yaml buffers whole requests before forwarding them", () => {
  const { environment } = compose.services.caddy;
  const text = readFileSync("deploy/Caddyfile", "utf8");
  const filled = text.replace("{$WAYPOST_PROXY_OPTION}", environment.WAYPOST_PROXY_OPTION);
  expect(filled).toMatch(/^\treverse_proxy .*\{\n(\t\t#.*\n)*\t\trequest_buffers 5MiB\n/m);
});

test("nginx accepts deploy/nginx.conf", async (context) => {
  context.skip(!hasNginx, "nginx is not installed");
  context.skip(process.getuid?.() !== 0, "only root may listen at the ports of the site");
  await using folder = await createUsedFolder();
  const { path } = folder;
  await writeFile(`${path}/fullchain.pem`, secureExample.cert);
  await writeFile(`${path}/privkey.pem`, secureExample.key);
  const site = readFileSync("deploy/nginx.conf", "utf8");
  const own = site.replaceAll("/etc/letsencrypt/live/links.example.com", path);
  expect(own.split(path)).toHaveLength(3);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${path}/${name};`,
  );
  const lines = [...temporary, "access_log off;", own].join("\n");
  await writeFile(`${path}/main.conf`, `pid ${path}/pid;\nevents {}\nhttp {\n${lines}\n}\n`);
  const words = ["-t", "-e", "stderr", "-c", `${path}/main.conf`];
  const { status, stderr } = spawnSync("nginx", words, { encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 0 });
});

test.skipIf(!hasSystemd)(
  "systemd accepts deploy/waypost.service and rates its sandbox as safe",
  async () => {
    await using folder = await createUsedFolder();
    const unit = `${folder.path}/waypost.service`;
    const text = readFileSync("deploy/waypost.service", "utf8");
    // systemd rejects a unit whose program does not exist on this machine.
    await writeFile(unit, text.replace("=/usr/bin/node ", `=${process.execPath} `));
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const words = ["security", "--offline=true", "--threshold=25", "deploy/waypost.service"];
    expect(spawnSync("systemd-analyze", words).status).toBe(0);
  },
);

/** `${NAME:-default}` and `${NAME:?message}` as Compose fills them in. */
function fill(
  environment: Readonly<Record<string, string>>,
  names: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(environment).map(([name, value]) => {
    const filled = value.replace(/\$\{(\w+):[-?][^}]*\}/g, (_, variable) => names[variable] ?? "");
    return [name, filled];
  });
  return Object.fromEntries(entries);
}
