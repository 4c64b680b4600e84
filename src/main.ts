import { parseArgs } from "node:util";
import { backupFlags, runBackup } from "./commands/backup.ts";
import { binFlags, runBin } from "./commands/bin.ts";
import { runConsole } from "./commands/console.ts";
import { doctorFlags, runDoctor } from "./commands/doctor.ts";
import { exportFlags, runExport } from "./commands/export.ts";
import { help } from "./commands/help.ts";
import { importFlags, runImport } from "./commands/import.ts";
import { jobFlags, runJobs } from "./commands/jobs.ts";
import { keyFlags, runKeys } from "./commands/keys.ts";
import { migrateFlags, runMigrate } from "./commands/migrate.ts";
import { projectFlags, runProjects } from "./commands/projects.ts";
import { restoreFlags, runRestore } from "./commands/restore.ts";
import { serve } from "./commands/serve.ts";
import { runStats, statsFlags } from "./commands/stats.ts";
import { runStdio } from "./commands/stdio.ts";
import { Interrupted } from "./commands/terminal/ask-to-go-on.ts";
import {
  locateProgram,
  nameCommand,
  nameCommandAnywhere,
  nameData,
} from "./commands/terminal/command-name.ts";
import type { Flags, FlagValues } from "./commands/terminal/flags.ts";
import { print, say } from "./commands/terminal/output.ts";
import { showTools } from "./commands/tools.ts";
import { runWebhooks, webhookFlags } from "./commands/webhooks.ts";
import { readConfig, settingFlags, UsageFault, type Config } from "./config.ts";
import { Problem } from "./contract/problem.ts";
import { listHelpTopics, readHelpTopic } from "./help/help-topics.ts";
import { NoEngine } from "./sql/engine.ts";
import { readOutage, StoreUnusable } from "./sql/faults.ts";
import { findNearest } from "./text/nearest-name.ts";

/** The process: which command, with what, and how it ends. */

/** Put in by the build, from package.json. */
declare const WAYPOST_VERSION: string;
/** Handed in by whoever runs the program (start/compiled-program.ts). */
declare const keepCompiled: () => void;

async function main(words: readonly string[]): Promise<number> {
  try {
    const end = await run(words);
    return typeof end === "number" ? end : end === false ? 1 : 0;
  } catch (error) {
    return explain(error);
  }
}

const version = WAYPOST_VERSION;
/** As a shell has it for a command that was ended by Ctrl-C. */
const interrupted = 130;

/** Answers false where the command itself has found something wrong, or its exit code. */
async function run(words: readonly string[]): Promise<boolean | number | void> {
  if (words[0] === "help" && words[1] !== undefined) return showTopic(words[1]);
  if (words.includes("--help") || words.includes("-h") || words[0] === "help") return print(help);
  if (words[0] === "--version") return print(version);
  // A client that starts `waypost` alone wants to speak MCP.
  const isBare = words[0] === undefined || words[0].startsWith("-");
  const [command = "", ...rest] = isBare ? ["stdio", ...words] : words;
  const start = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (start !== undefined) return start(rest);
  const hint = suggest(findNearest(command, Object.keys(commands)));
  throw new UsageFault(`there is no command ${command}${hint} (waypost --help)`);
}

async function showTopic(name: string): Promise<void> {
  const topic = await readHelpTopic(name, "md");
  if (topic !== undefined) return print(topic.text.trimEnd());
  const names = (await listHelpTopics()).map((other) => other.name);
  const list = `The topics are: ${names.join(", ")}.`;
  if (name === "topics") return print(list);
  throw new UsageFault(
    `there is no help topic ${name}${suggest(findNearest(name, names))}. ${list}`,
  );
}

type Command = (words: readonly string[]) => Promise<boolean | number | void>;

/** All are imported at once: the build defers what only some of them need. */
const commands: Readonly<Record<string, Command>> = {
  stdio: (words) => {
    const { config } = readAlone("stdio", words, {});
    // A client starts it in a folder of its own, which is not where the person types.
    const command = nameCommandAnywhere(readProgram());
    const program = locateProgram(readProgram());
    return runStdio({ config, version, command, program, keepCompiled, ...openTerminal() });
  },
  serve: (words) => {
    const { config, values } = readAlone("serve", words, jsonFlag);
    const json = values.json === true;
    const command = nameOwn();
    const consoleCommand = `${command} console${nameData(config)}`;
    const named = { command, consoleCommand, program: locateProgram(readProgram()) };
    return serve({ config, version, json, ...named, stopped: waitForStop() });
  },
  tools: (words) => {
    const { config, values } = readAlone("tools", words, jsonFlag);
    return showTools({ config, version, json: values.json === true });
  },
  console: (words) => {
    const { config } = readAlone("console", words, {});
    const serveCommand = `${nameOwn()} serve${nameData(config)}`;
    return runConsole({ config, serveCommand });
  },
  doctor: (words) => {
    const { config, values: flags } = readAlone("doctor", words, doctorFlags);
    return runDoctor({ config, version, command: nameOwn(), flags });
  },
  keys: (words) => {
    const { config, values, positionals } = read(words, keyFlags);
    return runKeys(config, positionals, values);
  },
  webhooks: (words) => {
    const { config, values, positionals } = read(words, webhookFlags);
    return runWebhooks(config, positionals, values);
  },
  projects: (words) => {
    const { config, values, positionals } = read(words, projectFlags);
    return runProjects(config, positionals, values);
  },
  import: (words) => {
    const { config, values, positionals } = read(words, importFlags);
    return runImport({ config, ...openTerminal() }, positionals, values);
  },
  export: (words) => {
    const { config, values } = readAlone("export", words, exportFlags);
    return runExport({ config, stopped: waitForStop() }, values);
  },
  stats: (words) => {
    const { config, values, positionals } = read(words, statsFlags);
    return runStats({ config, stopped: waitForStop() }, positionals, values);
  },
  jobs: (words) => {
    const { config, values, positionals } = read(words, jobFlags);
    return runJobs({ config, ...openTerminal() }, positionals, values);
  },
  bin: (words) => {
    const { config, values, positionals } = read(words, binFlags);
    return runBin({ config, ...openTerminal() }, positionals, values);
  },
  backup: (words) => {
    const { config, values, positionals } = read(words, backupFlags);
    return runBackup({ config, version, stopped: waitForStop() }, positionals, values);
  },
  restore: (words) => {
    const { config, values, positionals } = read(words, restoreFlags);
    return runRestore({ config, stopped: waitForStop() }, positionals, values);
  },
  migrate: (words) => {
    const { config, values } = readAlone("migrate", words, migrateFlags);
    return runMigrate({ config, stopped: waitForStop() }, values);
  },
};

/** What whoever started this process types to start another command. */
function nameOwn(): string {
  return nameCommand(readProgram(), process.cwd());
}

function readProgram(): string {
  return process.argv[1] ?? "waypost";
}

/** Where the person answers, and how they stop what they have asked for. */
function openTerminal() {
  return { input: process.stdin, stopped: waitForStop() };
}

const jsonFlag = { json: { type: "boolean" } } as const;

/** A command that takes flags and nothing else. */
function readAlone<Known extends Flags>(
  command: string,
  words: readonly string[],
  known: Known,
): Read<Known> {
  const given = read(words, known);
  const [stray] = given.positionals;
  if (stray !== undefined) throw new UsageFault(`${command} takes no ${stray}`);
  return given;
}

type Read<Known extends Flags> = {
  readonly config: Config;
  readonly values: FlagValues<Known>;
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
    // A command's own flag may have the name of a setting: then it is not the setting.
    const settings = Object.entries(values).filter(([name]) => !Object.hasOwn(known, name));
    // parseArgs gives a text for every flag of type string, and settings are all of that type.
    const given = Object.fromEntries(settings) as Record<string, string | undefined>;
    const config = readConfig(process.env, given);
    return { config, values: values as FlagValues<Known>, positionals };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageFault(`${explainFlag(error.message, options)} (waypost --help)`, {
      cause: error,
    });
  }
}

/** What parseArgs found wrong, without its advice for programmers. */
function explainFlag(found: string, options: Flags): string {
  const [sentence = ""] = found.split(/\. |\.?\n/);
  const [, name = "", value] = /^Option '(--[\w-]+)( <value>)?'/.exec(sentence) ?? [];
  const [, unknown] = /^Unknown option '--([^']+)'$/.exec(sentence) ?? [];
  if (sentence.endsWith(" does not take an argument")) return `${name} takes no value`;
  if (value !== undefined || sentence.endsWith(" is ambiguous")) return `${name} needs a value`;
  const nearest = unknown && findNearest(unknown, Object.keys(options));
  return sentence + suggest(nearest && `--${nearest}`);
}

function suggest(nearest: string | undefined): string {
  return nearest ? `; did you mean ${nearest}?` : "";
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
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Interrupted) {
    say(`waypost: ${message}`);
    return interrupted;
  }
  const outage = error instanceof StoreUnusable ? undefined : readOutage(error);
  if (outage !== undefined) {
    say(`waypost: ${outages[outage] ?? message}`);
    return 2;
  }
  const isKnown = [UsageFault, StoreUnusable, NoEngine, Problem].some(
    (kind) => error instanceof kind,
  );
  say(`waypost: ${isKnown ? "" : "unexpected error: "}${message}`);
  return isKnown ? 2 : 1;
}

/** Where the error's own words are not for the person. */
const outages = {
  busy: "another process holds the data folder for too long; try again",
  held: undefined,
  locked: undefined,
  away: undefined,
  unknown:
    "the database stopped answering, and it is not known whether this was written; look before " +
    "you repeat it",
} as const;

void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
