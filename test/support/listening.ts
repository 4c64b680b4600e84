import { request } from "node:http";
import { callOf, startRaw, type RawSession } from "./mcp-http.ts";

/** Use this for several processes that share a data folder and a port, as with MCP clients. */

export type Session = RawSession & {
  /** The address of a link in a tool's result, and what the result says about addresses. */
  readonly askAddress: () => Promise<AddressReport>;
  readonly listTools: () => Promise<void>;
  /** Returns the result of a tool call, also if it failed. */
  // Tests read results as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly call: (name: string, args: object) => Promise<any>;
  /** Ends the process like a client, by closing its input, or kills it. */
  readonly stop: (by?: "input" | "SIGKILL") => Promise<number | null>;
};

type AddressReport = { readonly address: string; readonly notes: readonly string[] };

type SessionOptions = {
  readonly data: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
};

const path = "spring";
const destination = "https://example.com/spring";

export async function startSession({ data, port, env = {} }: SessionOptions): Promise<Session> {
  const raw = startRaw({ data, env: { WAYPOST_PORT: `${port}`, ...env } });
  await raw.handshake();
  let calls = 0;
  const ask = async (method: string, params: object = {}) => {
    const id = `asked ${(calls += 1)}`;
    raw.send({ jsonrpc: "2.0", id, method, params });
    return (await raw.answer(id)).result;
  };
  const call: Session["call"] = async (name, args) =>
    (await ask("tools/call", callOf(0, name, args).params)).structuredContent;
  return {
    ...raw,
    listTools: () => ask("tools/list"),
    call,
    askAddress: async () => {
      const { link, problems = [] } = await call("upsert_link", { path, url: destination });
      const notes = problems.map(({ message }: { readonly message: string }) => message);
      return { address: link.address, notes };
    },
    stop: (by = "input") => {
      if (by === "input") raw.child.stdin?.end();
      else raw.child.kill(by);
      return raw.ended;
    },
  };
}

type VisitResult = { readonly status: number; readonly location: string | undefined };

/** The response to a browser on this machine, or undefined if no server listens. */
export function visit(address: string, method = "GET"): Promise<VisitResult | undefined> {
  const { host, port, pathname } = new URL(address);
  const place = { host: "127.0.0.1", port, path: pathname, method, agent: false };
  const agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/121.0.0.0";
  return new Promise((resolve) => {
    request({ ...place, headers: { host, "user-agent": agent } }, (response) => {
      response.resume();
      const { statusCode = 0, headers } = response;
      response.on("end", () => resolve({ status: statusCode, location: headers.location }));
    })
      .on("error", () => resolve(undefined))
      .end();
  });
}

export async function opens(address: string): Promise<boolean> {
  return (await visit(address))?.location === destination;
}
