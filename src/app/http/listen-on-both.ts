import type { AddressInfo, Server as NetServer } from "node:net";
import { readCode } from "../data/data-folder.ts";
import { closeListener, listenAt, type HttpServer } from "./http-server.ts";

const loopbacks = ["127.0.0.1", "::1"];

/** A browser opens `localhost` at either address, so a port counts as ours only at both. */
const covered: Readonly<Record<string, readonly string[]>> = {
  "127.0.0.1": ["127.0.0.1"],
  "0.0.0.0": ["127.0.0.1"],
  "::1": ["::1"],
  "::": loopbacks,
};

/** A port that is free at one address may be taken at the other. */
const mostTries = 20;

type ListenPlace = {
  readonly host: string;
  readonly port: number;
  /** Browsers find these links at the loopback addresses, whatever the host is. */
  readonly hasLocalLinks: boolean;
};

/** Listens at the host, and at the loopback addresses that the machine has. */
export async function listenOnBoth(
  server: HttpServer,
  { host, port, hasLocalLinks }: ListenPlace,
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const bound = await listenAt(server, { host, port });
    try {
      await listenAtTwins(server, bound, hasLocalLinks);
      return bound;
    } catch (error) {
      await Promise.all([server, ...server.twins].map(closeListener));
      if (port !== 0 || readCode(error) !== "EADDRINUSE" || tries === mostTries) throw error;
    }
  }
}

async function listenAtTwins(
  server: HttpServer,
  port: number,
  hasLocalLinks: boolean,
): Promise<void> {
  // A listening TCP server has an address with a port; only pipes have a path instead.
  const own = covered[(server.address() as AddressInfo).address];
  if (own === undefined && !hasLocalLinks) return;
  for (const [at, host] of loopbacks.entries()) {
    const twin = server.twins[at];
    if (twin !== undefined && own?.includes(host) !== true) await listenAtTwin(twin, host, port);
  }
}

async function listenAtTwin(twin: NetServer, host: string, port: number): Promise<void> {
  try {
    await listenAt(twin, { host, port });
  } catch (error) {
    // The machine has no such address.
    if (!["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(readCode(error) ?? "")) throw error;
  }
}
