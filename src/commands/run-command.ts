import { parseArgs } from "node:util";
import { runBackup } from "./backup.ts";
import { runBin } from "./bin.ts";
import { runConnect } from "./connect.ts";
import { runConsole } from "./console.ts";
import { runDoctor } from "./doctor.ts";
import { runExport } from "./export.ts";
import { runHealth } from "./health.ts";
import { renderHelp } from "./help.ts";
import { runImport } from "./import.ts";
import { runJobs } from "./jobs.ts";
import { runKeys } from "./keys.ts";
import { runMigrate } from "./migrate.ts";
import { runProjects } from "./projects.ts";
import { runRestore } from "./restore.ts";
import { serve } from "./serve.ts";
import { runStats } from "./stats.ts";
import { runStdio } from "./stdio.ts";
import { Interrupted } from "./terminal/ask-to-go-on.ts";
import { commandList, type CommandName } from "./terminal/command-list.ts";
import { locateProgram, nameCommand, writeCommand } from "./terminal/command-name.ts";
import type { Flags, FlagValues } from "./terminal/flags.ts";
import { formatTable, print, say } from "./terminal/output.ts";
import { showTools } from "./tools.ts";
import { runWebhooks } from "./webhooks.ts";
import { readConfig, settingFlags, UsageFault, type Config } from "../config.ts";
import { Problem } from "../contract/problem.ts";
import { readApiDescription } from "../help/api-description.ts";
import { listHelpTopics, readHelpTopic } from "../help/help-topics.ts";
import { NoEngine } from "../sql/engine.ts";
import { readOutage, StoreUnusable } from "../sql/faults.ts";
import { isUnreachable } from "../sql/postgres-faults.ts";
import { findNearest } from "../text/nearest-name.ts";
import { quote } from "../text/show-hidden.ts";

/** What a command takes from the process that runs it. */
export type Host = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The path of the program, as the person typed it. */
  readonly program: string;
  readonly input: NodeJS.ReadStream;
  /** Resolves when the command is asked to stop. */
  readonly waitForStop: () => Promise<void>;
  readonly version: string;
  readonly keepCompiled: () => void;
};

/** Runs the command that the words name. Returns its exit code. */
export async function runCommand(words: readonly string[], host: Host): Promise<number> {
  try {
    const end = await run(words, host);
    return typeof end === "number" ? end : end === false ? 1 : 0;
  } catch (error) {
    return explain(error);
  }
}

/** As a shell has it for a command that was ended by Ctrl-C. */
const interrupted = 130;

/** Returns its exit code, or false if the command found a fault. */
async function run(words: readonly string[], host: Host): Promise<boolean | number | void> {
  const [first, topic] = words;
  const isTopic = first === "help" && topic !== undefined && !Object.hasOwn(commands, topic);
  if (isTopic) return showTopic(topic);
  const isHelp = words.includes("--help") || words.includes("-h") || first === "help";
  if (isHelp) return print(renderHelp());
  if (words[0] === "--version") return print(host.version);
  // MCP clients start `waypost` without a command.
  const isBare = words[0] === undefined || words[0].startsWith("-");
  const [command = "", ...rest] = isBare ? ["stdio", ...words] : words;
  const start = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (start !== undefined) return start(rest, host);
  const hint = suggest(findNearest(command, Object.keys(commands)));
  throw new UsageFault(`unknown command ${command}${hint} (see waypost --help)`);
}

async function showTopic(name: string): Promise<void> {
  const topics = await listHelpTopics();
  if (name === "topics") {
    const rows = topics.map((each) => [each.name, each.title]);
    return print(formatTable([["TOPIC", "TITLE"], ...rows]));
  }
  const topic = await readHelpTopic(name, "md");
  if (topic !== undefined) return print(topic.text.trimEnd());
  const hint = suggest(
    findNearest(
      name,
      topics.map((other) => other.name),
    ),
  );
  const advice = "waypost help topics lists all topics";
  throw new UsageFault(`unknown help topic ${quote(name)}${hint}${hint ? "" : ";"} ${advice}`);
}

async function showApiDescription(): Promise<void> {
  print((await readApiDescription()).trimEnd());
}

type Command = (words: readonly string[], host: Host) => Promise<boolean | number | void>;

/** All are imported at once: the build defers what only some of them need. */
const commands: Readonly<Record<string, Command>> = {
  stdio: (words, host) => {
    const { config } = readAlone("stdio", words, {}, host);
    const command = nameCommand(host.program);
    const program = locateProgram(host.program);
    const { version, keepCompiled } = host;
    return runStdio({ config, version, command, program, keepCompiled, ...openTerminal(host) });
  },
  serve: (words, host) => {
    const { config, values } = readAlone("serve", words, commandList.serve.flags, host);
    const json = values.json === true;
    const command = nameCommand(host.program);
    const consoleCommand = writeCommand(config, command, "console");
    const named = { command, consoleCommand, program: locateProgram(host.program) };
    return serve({ config, version: host.version, json, ...named, stopped: host.waitForStop() });
  },
  tools: (words, host) => {
    const { config, values } = readAlone("tools", words, commandList.tools.flags, host);
    return showTools({ config, version: host.version, json: values.json === true });
  },
  openapi: (words, host) => {
    readAlone("openapi", words, {}, host);
    return showApiDescription();
  },
  console: (words, host) => {
    const { config } = readAlone("console", words, {}, host);
    const serveCommand = writeCommand(config, nameCommand(host.program), "serve");
    return runConsole({ config, serveCommand });
  },
  connect: (words, host) => {
    const { config, values, positionals } = read(words, commandList.connect.flags, host);
    const { env } = host;
    const program = locateProgram(host.program);
    return runConnect({ config, env, program, ...openTerminal(host) }, positionals, values);
  },
  doctor: (words, host) => {
    const { config, values: flags } = readAlone("doctor", words, commandList.doctor.flags, host);
    const command = nameCommand(host.program);
    return runDoctor({ config, version: host.version, command, flags });
  },
  health: (words, host) => runHealth(readAlone("health", words, {}, host).config),
  keys: (words, host) => {
    const { config, values, positionals } = read(words, commandList.keys.flags, host);
    return runKeys(config, positionals, values);
  },
  webhooks: (words, host) => {
    const { config, values, positionals } = read(words, commandList.webhooks.flags, host);
    return runWebhooks(config, positionals, values);
  },
  projects: (words, host) => {
    const { config, values, positionals } = read(words, commandList.projects.flags, host);
    return runProjects(config, positionals, values);
  },
  import: (words, host) => {
    const { config, values, positionals } = read(words, commandList.import.flags, host);
    return runImport({ config, ...openTerminal(host) }, positionals, values);
  },
  export: (words, host) => {
    const { config, values } = readAlone("export", words, commandList.export.flags, host);
    return runExport({ config, stopped: host.waitForStop() }, values);
  },
  stats: (words, host) => {
    const { config, values, positionals } = read(words, commandList.stats.flags, host);
    return runStats({ config, stopped: host.waitForStop() }, positionals, values);
  },
  jobs: (words, host) => {
    const { config, values, positionals } = read(words, commandList.jobs.flags, host);
    return runJobs({ config, ...openTerminal(host) }, positionals, values);
  },
  bin: (words, host) => {
    const { config, values, positionals } = read(words, commandList.bin.flags, host);
    return runBin({ config, ...openTerminal(host) }, positionals, values);
  },
  backup: (words, host) => {
    const { config, values, positionals } = read(words, commandList.backup.flags, host);
    return runBackup({ config, stopped: host.waitForStop() }, positionals, values);
  },
  restore: (words, host) => {
    const { config, values, positionals } = read(words, commandList.restore.flags, host);
    return runRestore({ config, stopped: host.waitForStop() }, positionals, values);
  },
  migrate: (words, host) => {
    const { config, values } = readAlone("migrate", words, commandList.migrate.flags, host);
    return runMigrate({ config, stopped: host.waitForStop() }, values);
  },
} satisfies Readonly<Record<Exclude<CommandName, "help">, Command>>;

/** How the user answers questions, and stops the command. */
function openTerminal({ input, waitForStop }: Host) {
  return { input, stopped: waitForStop() };
}

/** Reads the flags of a command without positional arguments. */
function readAlone<Known extends Flags>(
  command: string,
  words: readonly string[],
  known: Known,
  host: Host,
): Read<Known> {
  const given = read(words, known, host);
  const [stray] = given.positionals;
  if (stray !== undefined) throw new UsageFault(`${command} does not take "${stray}"`);
  return given;
}

type Read<Known extends Flags> = {
  readonly config: Config;
  readonly values: FlagValues<Known>;
  readonly positionals: readonly string[];
};

/** Reads flags and environment. Unknown flags are refused. */
function read<Known extends Flags>(
  words: readonly string[],
  known: Known,
  { env }: Host,
): Read<Known> {
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
    const config = readConfig(env, given);
    return { config, values: values as FlagValues<Known>, positionals };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageFault(`${explainFlag(error.message, options)} (see waypost --help)`, {
      cause: error,
    });
  }
}

/** The error of parseArgs without its advice for programmers. */
function explainFlag(found: string, options: Flags): string {
  const [sentence = ""] = found.split(/\. |\.?\n/);
  const [, name = "", value] = /^Option '(--[\w-]+)( <value>)?'/.exec(sentence) ?? [];
  const [, unknown] = /^Unknown option '([^']+)'$/.exec(sentence) ?? [];
  if (sentence.endsWith(" does not take an argument")) return `${name} takes no value`;
  if (value !== undefined || sentence.endsWith(" is ambiguous")) return `${name} needs a value`;
  if (unknown === undefined) return sentence;
  const nearest = findNearest(unknown.replace(/^-+/, ""), Object.keys(options));
  return `unknown flag ${unknown}${suggest(nearest && `--${nearest}`)}`;
}

function suggest(nearest: string | undefined): string {
  return nearest ? `; did you mean ${nearest}?` : "";
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
    return isUnreachable(error) ? 1 : 2;
  }
  const isKnown = [UsageFault, StoreUnusable, NoEngine, Problem].some(
    (kind) => error instanceof kind,
  );
  say(`waypost: ${isKnown ? "" : "unexpected error: "}${message}`);
  // A service manager starts the process again after 1, but not after 2.
  return isKnown && !isUnreachable(error) ? 2 : 1;
}

/** Where the error's own words are not for the person. */
const outages = {
  busy: "another process is using the data folder; try again",
  locked: undefined,
  away: undefined,
  unknown:
    "the database stopped responding, and the change may or may not be saved; check before you " +
    "repeat it",
} as const;
