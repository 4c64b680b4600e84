import { findReachableHost } from "../app/http/addresses.ts";
import { UsageFault } from "../config.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { say } from "./terminal/output.ts";

/** Checks whether a server is ready, for the health check of a container. */
export const health: Command = {
  usages: {
    health: ["check that `serve` is ready at `--host` and `--port`; exit code 0 or 1", run],
  },
  flags: {},
};

async function run({ config: { host, port } }: Invocation<object>): Promise<boolean> {
  if (port === 0) throw new UsageFault("health needs the port of waypost serve; pass --port");
  const name = findReachableHost(host);
  const authority = `${name.includes(":") ? `[${name}]` : name}:${port}`;
  const fault = await findFault(`http://${authority}/readyz`);
  say(fault === undefined ? `Waypost is ready on port ${port}.` : `Not ready: ${fault}.`);
  return fault === undefined;
}

async function findFault(url: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(3000);
    const { status, body } = await fetch(url, { signal, redirect: "manual" });
    // The health response fits into one chunk. Another program's response might never end.
    const chunk = await body?.getReader().read();
    const text = Buffer.from(chunk?.value ?? []).toString();
    return text.includes('"status":"ready"') ? undefined : `${url} returns status ${status}`;
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    return isLate ? `${url} does not answer` : `cannot connect to ${url}`;
  }
}
