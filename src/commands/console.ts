import { describeAddresses } from "../app/http/addresses.ts";
import { makeConsoleAddress } from "../app/console/address.ts";
import { createLazyState } from "../app/process/lazy-state.ts";
import { findStatement } from "../app/listening/ask-listener.ts";
import { UsageFault } from "../config.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { nameCommand, writeCommand } from "./terminal/command-name.ts";
import { isReadByPerson, print } from "./terminal/output.ts";

/** `waypost console` prints an address that signs the user in to the console. */
export const consoleCommand: Command = {
  usages: { console: ["print a one-time address that signs you in to the console", run] },
  flags: {},
};

async function run({ config, runtime }: Invocation<object>): Promise<void> {
  if (!config.console) throw new UsageFault("the console is off; set WAYPOST_CONSOLE to on");
  if (!isReadByPerson()) {
    throw new UsageFault(
      "console prints its address only to a terminal, because anyone with the address can sign in",
    );
  }
  const isGateway = config.base_url !== undefined;
  const serving = isGateway ? describeAddresses(config, config.port) : await findStatement(config);
  if (serving === undefined) {
    const serve = writeCommand(config, nameCommand(runtime.program), "serve");
    throw new UsageFault(`the console is not running; start it with ${serve}`);
  }
  const state = createLazyState(config);
  try {
    const address = await makeConsoleAddress(config, state, serving.url);
    print(`${address}\nOpen it in your browser within ten minutes. It signs you in once.`);
  } finally {
    await state.close();
  }
}
