import type { AddressInfo } from "node:net";
import { readCode } from "./data-folder.ts";
import { closeListener, listenAt, type HttpServer } from "./http-server.ts";

/** A browser opens `localhost` at either address, so a port counts as ours only at both. */
const twins: Readonly<Record<string, string>> = {
  "127.0.0.1": "::1",
  "0.0.0.0": "::1",
  "::1": "127.0.0.1",
};

/** A port that is free at one address may be taken at the other. */
const mostTries = 20;

/** Listens at the host, and at the other loopback address where the machine has it. */
export async function listenOnBoth(
  server: HttpServer,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const bound = await listenAt(server, { host, port });
    try {
      await listenAtTwin(server, bound);
      return bound;
    } catch (error) {
      await closeListener(server);
      if (port !== 0 || readCode(error) !== "EADDRINUSE" || tries === mostTries) throw error;
    }
  }
}

async function listenAtTwin(server: HttpServer, port: number): Promise<void> {
  // A listening TCP server has an address with a port; only pipes have a path instead.
  const host = twins[(server.address() as AddressInfo).address];
  if (host === undefined) return;
  try {
    await listenAt(server.twin, { host, port });
  } catch (error) {
    // The machine has no such address.
    if (!["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(readCode(error) ?? "")) throw error;
  }
}
