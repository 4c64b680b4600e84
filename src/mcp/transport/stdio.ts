import type { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Readable, Writable } from "node:stream";
import { createStdioTransport } from "./stdio-transport.ts";

export type StdioOptions = {
  readonly input: Readable;
  readonly output: Writable;
  /** A server for whichever era the client opens with. */
  readonly createServer: () => Server;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
  readonly onRefused: (reason: string) => void;
  readonly onError: (error: unknown) => void;
};

/** What runs when the input ends may still be answered within this time. */
const patience_ms = 1500;

/** Serves one client until its input ends or the process is asked to stop. */
export async function serveOverStdio(options: StdioOptions): Promise<void> {
  const { input, output, createServer, stopped, onRefused, onError } = options;
  const transport = createStdioTransport({ input, output, onRefused });
  const handle = serveStdio(createServer, { transport, onerror: onError });
  await Promise.race([transport.ended, stopped]);
  await transport.finish(patience_ms);
  await handle.close();
  input.destroy();
}
