import { describeAddresses } from "../compose/addresses.ts";
import { makeConsoleAddress } from "../compose/console-address.ts";
import { createLazyState } from "../compose/lazy-state.ts";
import { findListener } from "../compose/listening/find-listener.ts";
import { findSigner } from "../compose/listening/folder-note.ts";
import { UsageFault, type Config } from "../config.ts";
import { isReadByPerson, print } from "./terminal/output.ts";

/** A listener of this machine answers at once. */
const answerWithin_ms = 5000;

type Options = {
  readonly config: Config;
  /** What a person types to have the console served. */
  readonly serveCommand: string;
};

/** Prints an address that signs in at the console, once, within ten minutes. */
export async function runConsole({ config, serveCommand }: Options): Promise<void> {
  if (!config.console) throw new UsageFault("WAYPOST_CONSOLE is off: there is no console");
  if (!isReadByPerson()) {
    throw new UsageFault(
      "console shows its address in a terminal alone: whoever reads it is signed in",
    );
  }
  const url = await findUrl(config);
  if (url === undefined) {
    throw new UsageFault(`nothing serves the console; start it with ${serveCommand}`);
  }
  const state = createLazyState(config);
  try {
    const address = await makeConsoleAddress(config, state, url);
    print(`${address}\nOpen it in your browser within ten minutes. It signs you in once.`);
  } finally {
    await state.close();
  }
}

/** Where the folder's process listens; a gateway is where its settings say. */
async function findUrl(config: Config): Promise<string | undefined> {
  const { data, base_url, port } = config;
  if (base_url !== undefined) return describeAddresses(config, port).url;
  const signer = findSigner(data);
  if (signer === undefined) return undefined;
  const signal = AbortSignal.timeout(answerWithin_ms);
  const usual = { host: "127.0.0.1", port };
  const { listener } = await findListener({ data, signer, usual, signal });
  listener?.letGo();
  return listener?.statement.url;
}
