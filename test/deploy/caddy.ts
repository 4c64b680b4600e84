import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { createEmptyFolder } from "../support/folders.ts";
import { findFreePort } from "../support/ports.ts";
import { waitUntil } from "../support/clock.ts";
import { makeHeaders, noCertificate, type ProxyReply, type Proxy, type PostBody } from "./proxy.ts";

/** The installed Caddy with deploy/Caddyfile, on other ports and with its own certificates. */
export async function startCaddy(upstream: number): Promise<Proxy> {
  const folder = await createEmptyFolder();
  const [http, https] = [await findFreePort(), await findFreePort()];
  const options = [
    "admin off",
    "local_certs",
    "skip_install_trust",
    "default_bind 127.0.0.1",
    `http_port ${http}`,
    `https_port ${https}`,
    `storage file_system ${folder.path}/storage`,
  ];
  const file = join(folder.path, "Caddyfile");
  const text = readFileSync("deploy/Caddyfile", "utf8");
  await writeFile(file, text.replace(/^\{\n/m, `{\n\t${options.join("\n\t")}\n`));
  const env = {
    PATH: process.env["PATH"],
    HOME: folder.path,
    WAYPOST_UPSTREAM: `127.0.0.1:${upstream}`,
  };
  const words = ["run", "--adapter", "caddyfile", "--config", file];
  const caddy = spawn("caddy", words, { env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  caddy.stderr.setEncoding("utf8").on("data", (part: string) => (log += part));
  const ended = once(caddy, "close");
  await waitUntil(() => log.includes("serving initial configuration") || caddy.exitCode !== null);
  if (caddy.exitCode !== null) throw new Error(`Caddy did not start: ${log}`);
  return {
    send: (host, path, sent = {}) => send(https, host, path, sent),
    [Symbol.asyncDispose]: async () => {
      caddy.kill("SIGTERM");
      await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function send(port: number, host: string, path: string, sent: PostBody): Promise<ProxyReply> {
  const method = sent.body === undefined ? "GET" : "POST";
  const headers = makeHeaders(host, sent);
  const target = { host: "127.0.0.1", port, path, method, servername: host };
  // Caddy's own certificates have no known issuer.
  const asked = request({ ...target, headers, agent: false, rejectUnauthorized: false });
  asked.end(sent.body === undefined ? undefined : JSON.stringify(sent.body));
  try {
    // The event's only argument is the response.
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.resume();
    return { status: response.statusCode ?? 0, location: response.headers.location };
  } catch (error) {
    if (!/alert internal error/.test(String(error))) throw error;
    return { status: noCertificate, location: undefined };
  }
}
