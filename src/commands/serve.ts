import { existsSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { UsageFault, type Config } from "../config.ts";
import { apiPrefix } from "../contract/index.ts";
import { createService } from "../service/service.ts";
import { clock, openEmbedded, random, type Embedded } from "./embedded.ts";
import { attachFront, createHttpServer } from "./front.ts";
import { createLog, createReport } from "./log.ts";
import { print, say } from "./output.ts";

/** What is still running when a stop is asked for may finish within this time. */
const drain_ms = 8000;
const sweepEvery_ms = 20;

type ServeOptions = {
  readonly config: Config;
  readonly json: boolean;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
};

/** Serves until it is asked to stop, then finishes what runs. */
export async function serve({ config, json, stopped }: ServeOptions): Promise<void> {
  const server = createHttpServer();
  // The port comes first: a start that fails for it must not have been the first start.
  const places = describePlaces(config, await listen(server, config));
  try {
    const embedded = await openEmbedded(config);
    try {
      attach(server, embedded, places, createLog(config));
      announce(embedded, places, json);
      await stopped;
      await drain(server);
    } finally {
      await embedded.store.close();
    }
  } finally {
    server.close();
  }
}

type Places = {
  readonly url: string;
  readonly mcp: string;
  readonly api: string;
  readonly links: string;
};

function attach(server: Server, { store }: Embedded, { url, links }: Places, log: Logger): void {
  const report = createReport(log);
  const service = createService({ store, clock, random, linkOrigin: links, report });
  const isHealthy = () =>
    store.db
      .selectFrom("tallies")
      .select("project_id")
      .limit(1)
      .execute()
      .then(
        () => true,
        () => false,
      );
  attachFront(server, { service, linkOrigin: links, url, isHealthy });
  store.watchChores(report);
}

async function listen(server: Server, { host, port }: Config): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const fault = isTaken
        ? `port ${port} on ${host} is in use; choose another with --port`
        : `cannot listen on ${host}, port ${port} (${error.code}); see --host and --port`;
      reject(new UsageFault(fault));
    });
    server.listen({ host, port }, resolve);
  });
  // A listening TCP server has an address with a port; only pipes have a path instead.
  return (server.address() as AddressInfo).port;
}

/** Idle connections end at once, busy ones when their answer is out or the time is up. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection becomes idle when its last answer is out, and Node looks only once.
  const sweep = setInterval(() => server.closeIdleConnections(), sweepEvery_ms);
  const timer = setTimeout(() => server.closeAllConnections(), drain_ms);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
}

function describePlaces({ host, public_url, link_origin }: Config, port: number): Places {
  const isEverywhere = host === "0.0.0.0" || host === "::";
  const name = isEverywhere ? "localhost" : host.includes(":") ? `[${host}]` : host;
  const url = public_url ?? `http://${name}:${port}`;
  return {
    url,
    mcp: `${url}/mcp`,
    api: url + apiPrefix,
    links: link_origin ?? `http://{subdomain}.localhost:${port}`,
  };
}

function announce({ keyFile, isFirstStart }: Embedded, places: Places, json: boolean): void {
  if (json) print(JSON.stringify({ ...places, key_file: keyFile }));
  if (!isFirstStart) {
    const key = existsSync(keyFile) ? `key: ${keyFile}` : "make a key with waypost keys create";
    say(`Waypost serves ${places.api} (${key}). Ctrl-C stops it.`);
    return;
  }
  // The header goes through a pipe: an argument would show the key to every other process.
  const header = `printf 'Authorization: Token %s' "$(cat '${keyFile}')"`;
  const body = `-H 'Content-Type: application/json' -d '{"url":"https://example.com"}'`;
  say(`Waypost serves ${places.api}; the key of your project "default" is in ${keyFile}.`);
  say(`Make your first link: ${header} | curl -H @- ${places.api}/links ${body}`);
  say(`More keys: waypost keys create --project default. All commands: waypost --help.`);
}
