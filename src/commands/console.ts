import { describeAddresses } from "../app/http/addresses.ts";
import { makeConsoleAddress } from "../app/console/address.ts";
import { createLazyState } from "../app/process/lazy-state.ts";
import { findStatement } from "../app/listening/ask-listener.ts";
import { UsageFault, type Config } from "../config.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { nameCommand, writeCommand } from "./terminal/command-name.ts";
import { isReadByPerson, print } from "./terminal/output.ts";

export const consoleCommand: Command = {
  usages: { console: ["print a one-time address that signs you in to the console", run] },
  flags: {},
};

async function run({ config, host }: Invocation<object>): Promise<void> {
  if (!config.console) throw new UsageFault("the console is off; set WAYPOST_CONSOLE to on");
  if (!isReadByPerson()) {
    throw new UsageFault(
      "console prints its address only to a terminal, because anyone with the address can sign in",
    );
  }
  const url = await findUrl(config);
  if (url === undefined) {
    const serve = writeCommand(config, nameCommand(host.program), "serve");
    throw new UsageFault(`the console is not running; start it with ${serve}`);
  }
  const state = createLazyState(config);
  try {
    const address = await makeConsoleAddress(config, state, url);
    print(`${address}\nOpen it in your browser within ten minutes. It signs you in once.`);
  } finally {
    await state.close();
  }
}

/** Returns the address of the folder's serving process, or of the configured gateway. */
async function findUrl(config: Config): Promise<string | undefined> {
  if (config.base_url !== undefined) return describeAddresses(config, config.port).url;
  return (await findStatement(config))?.url;
}
