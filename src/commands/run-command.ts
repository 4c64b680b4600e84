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
import { runUsage, suggest, type Command, type Runtime } from "./terminal/command.ts";
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

/** Runs the command that the arguments name, and explains its errors. */

/** Every command, in the order of the help text. */
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

export async function runCommand(words: readonly string[], runtime: Runtime): Promise<number> {
  try {
    const end = await run(words, runtime);
    return typeof end === "number" ? end : end === false ? 1 : 0;
  } catch (error) {
    return explain(error);
  }
}

async function run(words: readonly string[], runtime: Runtime): Promise<boolean | number | void> {
  const [first, topic] = words;
  const isHelp = first === "help" || words.includes("--help") || words.includes("-h");
  // Help comes before `runUsage`, which reads the settings, so that it works if one is invalid.
  if (first === "help" && topic !== undefined && !Object.hasOwn(commands, topic)) {
    return showTopic(topic);
  }
  if (isHelp) return print(renderHelp(Object.values(commands)));
  if (first === "--version") return print(runtime.version);
  // MCP clients run `waypost` without a command.
  const isBare = first === undefined || first.startsWith("-");
  const [name = "", ...rest] = isBare ? ["stdio", ...words] : words;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) return runUsage(name, command, rest, runtime);
  const hint = suggest(findNearest(name, Object.keys(commands)));
  throw new UsageFault(`unknown command ${name}${hint} (see waypost --help)`);
}

async function showTopic(name: string): Promise<void> {
  const topics = (await listHelpTopics()).map((each) => [each.name, each.title] as const);
  if (name === "topics") return printTable(["TOPIC", "TITLE"], topics);
  const topic = await readHelpTopic(name, "md");
  if (topic !== undefined) return print(topic.text.trimEnd());
  const hint = suggest(findNearest(name, new Map(topics).keys())) || ";";
  const advice = "waypost help topics lists all topics";
  throw new UsageFault(`unknown help topic ${quote(name)}${hint} ${advice}`);
}

function explain(error: unknown): number {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Interrupted) {
    say(`waypost: ${message}`);
    // By convention, shells use exit code 130 for a command that Ctrl-C stopped.
    return 130;
  }
  const outage = error instanceof StoreUnusable ? undefined : readOutage(error);
  const faults = [UsageFault, StoreUnusable, NoEngine, Problem];
  const isKnown = outage !== undefined || faults.some((kind) => error instanceof kind);
  const text = outages[outage ?? ""] ?? message;
  say(`waypost: ${isKnown ? "" : "unexpected error: "}${text}`);
  // Service managers restart a process that exits with 1, but not with 2.
  return isKnown && !isUnreachable(error) ? 2 : 1;
}

/** Messages for errors whose own text is not meant for users. */
const outages: Readonly<Record<string, string>> = {
  busy: "another process is using the data folder; try again",
  unknown:
    "the database stopped responding, and the change may or may not be saved; check before you " +
    "repeat it",
};
