import type { AddressInfo } from "node:net";
import { readCode } from "../data/file-fault.ts";
import { closeListener, listenAt, type HttpServer } from "./http-server.ts";

/** Makes a server listen on every address that a browser may use for `localhost`. */

const loopbacks: readonly string[] = ["127.0.0.1", "::1"];

/**
 * For each listening address, the loopback addresses that it covers. Browsers may open `localhost`
 * at either loopback address, so the server must listen on both.
 */
const covered: Readonly<Record<string, readonly string[]>> = {
  "127.0.0.1": ["127.0.0.1"],
  "0.0.0.0": ["127.0.0.1"],
  "::1": ["::1"],
  "::": loopbacks,
};

/** The maximum number of attempts to find a port that is free on both addresses. */
const mostTries = 20;

export type ListenAddress = {
  readonly host: string;
  readonly port: number;
  readonly hasLocalLinks: boolean;
};

/** Listens on the host, and on the loopback addresses that browsers need. */
export async function listenOnBoth(
  server: HttpServer,
  place: ListenAddress,
  tries = mostTries,
): Promise<number> {
  const { host, port, hasLocalLinks } = place;
  try {
    const bound = await listenAt(server, { host, port });
    // A listening TCP server always has an address object; only a pipe has a string.
    const { address } = server.address() as AddressInfo;
    const own = covered[address] ?? (hasLocalLinks ? [] : loopbacks);
    for (const [at, twin] of server.twins.entries()) {
      const loopback = loopbacks[at] ?? "";
      if (own.includes(loopback)) continue;
      await listenAt(twin, { host: loopback, port: bound }).catch((error: unknown) => {
        if (!noSuchAddress.has(readCode(error))) throw error;
      });
    }
    return bound;
  } catch (error) {
    await Promise.all([server, ...server.twins].map(closeListener));
    if (port !== 0 || readCode(error) !== "EADDRINUSE" || tries === 1) throw error;
    return listenOnBoth(server, place, tries - 1);
  }
}

/** The error codes for a loopback address that this machine lacks. */
const noSuchAddress: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);
