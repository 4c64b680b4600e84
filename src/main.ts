import { parseArgs } from "node:util";
import { help } from "./commands/help.ts";
import { keyFlags, runKeys } from "./commands/keys.ts";
import { print, say } from "./commands/output.ts";
import { projectFlags, runProjects } from "./commands/projects.ts";
import { serve } from "./commands/serve.ts";
import { readConfig, settingFlags, UsageFault, type Config } from "./config.ts";
import { Problem } from "./contract/problem.ts";
import { NoEngine } from "./sql/engine.ts";
import { StoreUnusable } from "./sql/faults.ts";
import { StoreBusy } from "./store/store.ts";

/** The process: which command, with what, and how it ends. */

/** Put in by the build, from package.json. */
declare const WAYPOST_VERSION: string;

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  try {
    await run(words);
    return 0;
  } catch (error) {
    return explain(error);
  }
}

async function run([command, ...words]: readonly string[]): Promise<void> {
  if (words.includes("--help") || words.includes("-h")) return print(help);
  switch (command) {
    case "serve": {
      const { config, values, positionals } = read(words, {
        json: { type: "boolean" },
      });
      if (positionals.length > 0) throw new UsageFault(`serve takes no ${positionals[0]}`);
      return serve({
        config,
        json: values.json === true,
        stopped: waitForStop(),
      });
    }
    case "keys": {
      const { config, values, positionals } = read(words, keyFlags);
      return runKeys(config, positionals, values);
    }
    case "projects": {
      const { config, values, positionals } = read(words, projectFlags);
      return runProjects(config, positionals, values);
    }
    case "--help":
    case "-h":
    case "help":
      return print(help);
    case "--version":
      return print(WAYPOST_VERSION);
    default:
      throw new UsageFault(
        command === undefined
          ? "say what to do, waypost serve for example; waypost --help shows everything"
          : `there is no command ${command}; waypost --help shows them`,
      );
  }
}

type Flags = Readonly<Record<string, { readonly type: "string" | "boolean" }>>;

type Read<Known extends Flags> = {
  readonly config: Config;
  readonly values: {
    readonly [Name in keyof Known]?: Known[Name]["type"] extends "boolean" ? boolean : string;
  };
  readonly positionals: readonly string[];
};

/** Flags and environment of a command; what it does not know is refused. */
function read<Known extends Flags>(words: readonly string[], known: Known): Read<Known> {
  const options: Flags = { ...settingFlags, ...known };
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
    });
    // parseArgs gives a text for every flag of type string, and settings are all of that type.
    const given = values as Record<string, string | undefined>;
    const config = readConfig(process.env, given);
    return { config, values: values as Read<Known>["values"], positionals };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageFault(`${error.message.split(/\. |\.?\n/)[0]} (waypost --help)`, {
      cause: error,
    });
  }
}

/** The first SIGTERM or SIGINT asks to finish; after it, another one ends the process at once. */
function waitForStop(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      resolve();
    };
    process.on("SIGTERM", stop).on("SIGINT", stop);
  });
}

/** One line for the person, and the exit code. */
function explain(error: unknown): number {
  const known = [UsageFault, StoreUnusable, NoEngine, Problem];
  if (error instanceof Error && known.some((kind) => error instanceof kind)) {
    say(`waypost: ${error.message}`);
    return 2;
  }
  if (error instanceof StoreBusy) {
    say("waypost: another process holds the data folder for too long; try again");
    return 2;
  }
  say(`waypost: unexpected error: ${error instanceof Error ? error.message : String(error)}`);
  return 1;
}
