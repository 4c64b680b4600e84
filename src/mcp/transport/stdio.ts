import type { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createStdioTransport, type StdioOptions } from "./stdio-transport.ts";

type ServeOptions = StdioOptions & {
  /** A server for whichever era the client opens with. */
  readonly createServer: () => Server;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
  readonly onError: (error: unknown) => void;
};

/** Calls that run when the input ends may still be answered within this time. */
const finishTimeout_ms = 1500;

/** Serves one client until its input ends or the process is asked to stop. */
export async function serveOverStdio(options: ServeOptions): Promise<void> {
  const { input, createServer, stopped, onError } = options;
  const transport = createStdioTransport(options);
  const handle = serveStdio(createServer, { transport, onerror: onError });
  await Promise.race([transport.ended, stopped]);
  await transport.finish(finishTimeout_ms);
  await handle.close();
  input.destroy();
}
