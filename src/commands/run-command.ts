import { backup } from "./backup.ts";
import { bin } from "./bin.ts";
import { connect } from "./connect.ts";
import { consoleCommand } from "./console.ts";
import { doctor } from "./doctor.ts";
import { exportCommand } from "./export.ts";
import { health } from "./health.ts";
import { renderHelp } from "./help.ts";
import { importCommand } from "./import.ts";
import { jobs } from "./jobs.ts";
import { keys } from "./keys.ts";
import { migrate } from "./migrate.ts";
import { projects } from "./projects.ts";
import { restore } from "./restore.ts";
import { serve } from "./serve.ts";
import { stats } from "./stats.ts";
import { stdio } from "./stdio.ts";
import { Interrupted } from "./terminal/ask-to-go-on.ts";
import { runUsage, suggest, type Command, type Host } from "./terminal/command.ts";
import { print, printTable, say } from "./terminal/output.ts";
import { tools } from "./tools.ts";
import { webhooks } from "./webhooks.ts";
import { UsageFault } from "../config.ts";
import { Problem } from "../contract/problem.ts";
import { listHelpTopics, readApiDescription, readHelpTopic } from "../help/help-topics.ts";
import { NoEngine } from "../sql/engine.ts";
import { readOutage, StoreUnusable } from "../sql/faults.ts";
import { isUnreachable } from "../sql/postgres-faults.ts";
import { findNearest } from "../text/nearest-name.ts";
import { quote } from "../text/show-hidden.ts";

/** Every command, in the order of the help. The build loads rarely used code lazily. */
export const commands: Readonly<Record<string, Command>> = {
  stdio,
  serve,
  connect,
  tools,
  openapi: {
    usages: {
      openapi: [
        "print the OpenAPI document of the REST API",
        async () => print((await readApiDescription()).trimEnd()),
      ],
    },
    flags: {},
  },
  console: consoleCommand,
  doctor,
  health,
  keys,
  projects,
  webhooks,
  import: importCommand,
  export: exportCommand,
  stats,
  jobs,
  bin,
  backup,
  restore,
  migrate,
  help: {
    usages: {
      "help TOPIC": [
        "show a page of the documentation; `waypost help topics` lists them",
        (_, name) => showTopic(name),
      ],
    },
    flags: {},
  },
};

/** Runs the command that the words name, and returns its exit code. */
export async function runCommand(words: readonly string[], host: Host): Promise<number> {
  try {
    const end = await run(words, host);
    return typeof end === "number" ? end : end === false ? 1 : 0;
  } catch (error) {
    return explain(error);
  }
}

/** Returns the exit code, or false if the command found a fault. */
async function run(words: readonly string[], host: Host): Promise<boolean | number | void> {
  const [first, topic] = words;
  // Help topics are shown even if a setting is invalid.
  const isTopic = first === "help" && topic !== undefined && !Object.hasOwn(commands, topic);
  if (isTopic) return showTopic(topic);
  const isHelp = words.includes("--help") || words.includes("-h") || first === "help";
  if (isHelp) return print(renderHelp(Object.values(commands)));
  if (first === "--version") return print(host.version);
  // MCP clients start `waypost` without a command.
  const isBare = first === undefined || first.startsWith("-");
  const [name = "", ...rest] = isBare ? ["stdio", ...words] : words;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) return runUsage(name, command, rest, host);
  const hint = suggest(findNearest(name, Object.keys(commands)));
  throw new UsageFault(`unknown command ${name}${hint} (see waypost --help)`);
}

async function showTopic(name: string): Promise<void> {
  const topics = await listHelpTopics();
  if (name === "topics") {
    const rows = topics.map((each) => [each.name, each.title]);
    return printTable(["TOPIC", "TITLE"], rows);
  }
  const topic = await readHelpTopic(name, "md");
  if (topic !== undefined) return print(topic.text.trimEnd());
  const names = topics.map((each) => each.name);
  const hint = suggest(findNearest(name, names)) || ";";
  const advice = "waypost help topics lists all topics";
  throw new UsageFault(`unknown help topic ${quote(name)}${hint} ${advice}`);
}

/** The exit code that shells use for a command stopped by Ctrl-C. */
const interrupted = 130;

/** Prints the error on one line and returns the exit code. */
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
  // Service managers restart a process that exits with 1, but not with 2.
  return isKnown && !isUnreachable(error) ? 2 : 1;
}

/** Messages for errors whose own text is not meant for users. */
const outages = {
  busy: "another process is using the data folder; try again",
  locked: undefined,
  away: undefined,
  unknown:
    "the database stopped responding, and the change may or may not be saved; check before you " +
    "repeat it",
} as const;
