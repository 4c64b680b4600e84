import { webhookEvents } from "../../contract/webhook-events.ts";
import { clients, type Client } from "../connect/clients.ts";
import type { Flag } from "./flags.ts";

/**
 * Every command with its flags, described once. Parsing, the help text and
 * docs/reference/commands.md are made from this table.
 */

type DescribedFlag = Flag & {
  /** What a value looks like: `FILE`. */
  readonly value?: string;
  /** The terminal shows it without its backticks. */
  readonly help: string;
};

export type Command = {
  /** Each way to call it, and what that does. */
  readonly usages: Readonly<Record<string, string>>;
  /** The word after the command, and what it means. */
  readonly operand?: readonly [name: string, help: string];
  readonly flags: Readonly<Record<string, DescribedFlag>>;
  readonly notes?: string;
};

const json = { type: "boolean", help: "print JSON" } as const;

const yes = {
  type: "boolean",
  help: "skip the confirmation, for scripts; without it, a person must confirm in a terminal",
} as const;

const project = {
  type: "string",
  value: "NAME",
  help: "the project's ID or subdomain; required only if several projects exist",
} as const;

const page = {
  type: "string",
  value: "N",
  help: "the page to print",
} as const;

const filter = {
  type: "string",
  multiple: true,
  value: "NAME=VALUE",
  help:
    "a field, a condition and a value, such as `name_cont=spring`; `_in` takes a list (`a,b`), " +
    "and `_null`, `_present` and `_empty` take true or false; with several filters, all must match",
} as const;

const search = {
  type: "string",
  value: "TEXT",
  help: "words from a link's name, path, destination or social title, or the link's address",
} as const;

const backupContents =
  "contains projects, keys, links, clicks, apps, templates and the bin; plans, jobs, approvals, " +
  "history and secrets; `owner.key` and `http.token`. Keep it private. It does not contain " +
  "exports or files named in other settings, such as the PIN file. For PostgreSQL, use pg_dump";

const withoutProjectFile = Object.entries<Client>(clients).flatMap(([name, { workspaceFile }]) =>
  workspaceFile === undefined ? [name] : [],
);

export const commandList = {
  stdio: {
    usages: {
      "": "serve MCP over stdin and stdout, for a client that starts Waypost (also: stdio)",
    },
    flags: {},
  },
  serve: {
    usages: {
      serve:
        "serve links on their own hosts, MCP at `/mcp`, the REST API at `/api/v1`, `/healthz` " +
        "and `/readyz`, approval pages, and the console for a browser",
    },
    flags: { json: { type: "boolean", help: "print one line of JSON when it is ready" } },
  },
  connect: {
    usages: {
      "connect CLIENT":
        "print the settings entry for an MCP client, or write it into the client's file",
    },
    operand: ["CLIENT", `one of ${Object.keys(clients).join(", ")}`],
    flags: {
      write: {
        type: "boolean",
        help: "add the entry to the client's file, and keep everything else in it",
      },
      remove: { type: "boolean", help: "remove the entry from the file" },
      workspace: {
        type: "boolean",
        help:
          "use the project's file in this folder instead of the user's; " +
          `${withoutProjectFile.join(" and ")} have none`,
      },
      yes,
    },
    notes:
      "`--data` and `--base-url` become arguments of the entry. To add a key, set " +
      "`WAYPOST_API_KEY_FILE`.",
  },
  tools: {
    usages: { tools: "list the tools, whether your key may use them, and their token cost" },
    flags: { json },
  },
  openapi: {
    usages: { openapi: "print the OpenAPI document of the REST API" },
    flags: {},
  },
  console: {
    usages: { console: "print a one-time address that signs you in to the console" },
    flags: {},
  },
  doctor: {
    usages: { doctor: "check the whole setup, without changing anything" },
    flags: {
      public: {
        type: "boolean",
        help:
          "also check the link hosts over the internet, as phones see them: the same checks as " +
          "the tool `check_domain`",
      },
    },
  },
  health: {
    usages: { health: "check that `serve` is ready at `--host` and `--port`; exit code 0 or 1" },
    flags: {},
  },
  keys: {
    usages: {
      "keys create": "create an API key; it is shown once",
      "keys list": "list the keys, without their tokens",
      "keys revoke ID": "revoke a key",
    },
    flags: {
      project,
      scopes: {
        type: "string",
        value: "A,B",
        help: "create: the key's scopes (default: all)",
      },
      role: {
        type: "string",
        value: "ROLE",
        help:
          "create: viewer, manager or owner (default: owner); a viewer reads links, statistics " +
          "and apps, and changes nothing",
      },
      master: {
        type: "boolean",
        help: "create: a master key, which manages projects and nothing else",
      },
      client: {
        type: "boolean",
        help:
          "create: a client key for the SDK in an app; it can only look up the link that opened " +
          "or installed the app, and is not a secret",
      },
      json: {
        type: "boolean",
        help:
          "print `{id, token, scopes, role, project_id}`; with `--client`, `{id, token, " +
          "project_id}`",
      },
    },
  },
  projects: {
    usages: {
      "projects create": "create a project",
      "projects list": "list the projects and their settings",
      "projects update ID-OR-SUBDOMAIN": "change a project",
    },
    flags: {
      name: {
        type: "string",
        value: "NAME",
        help: "the name, which visitors see on the home page",
      },
      subdomain: {
        type: "string",
        value: "NAME",
        help: "the first part of the link host; after a change, the old addresses stop working",
      },
      plan: { type: "string", value: "free|pro", help: "the plan (default: pro)" },
      "max-links": {
        type: "string",
        value: "N",
        help: "how many links the free plan allows (default: 1000)",
      },
      templates: {
        type: "string",
        value: "on|off",
        help: "whether the project has page templates (default: on)",
      },
      suspend: {
        type: "string",
        value: "on|off",
        help: "whether the project is suspended, which stops its links and keys (default: off)",
      },
      "custom-domain": {
        type: "string",
        value: "DOMAIN",
        help: "your own domain for the project's links",
      },
      "verify-domain": {
        type: "boolean",
        help: "update: verify the custom domain by its TXT record, which `--custom-domain` prints",
      },
      "assume-verified": {
        type: "boolean",
        help: "mark the custom domain as verified without checking its TXT record",
      },
      "link-in-referrer": {
        type: "string",
        value: "on|off",
        help: "send the link to Android apps through Google Play (default: off)",
      },
      clipboard: {
        type: "string",
        value: "on|off",
        help:
          "on iPhones, the App Store button of the preview page copies an address that a newly " +
          "installed app can use once to find its link (default: off)",
      },
      destinations: {
        type: "string",
        value: "A,*.B",
        help: "the only hosts that new or changed links may redirect to (default: any)",
      },
      home: {
        type: "string",
        value: "URL",
        help: 'the address that the root of the link host redirects to; `""` clears it',
      },
      "not-found": {
        type: "string",
        value: "URL",
        help: 'the address that unknown paths redirect to; `""` clears it',
      },
      json,
    },
  },
  webhooks: {
    usages: {
      "webhooks create": "send events to a web address; the webhook's secret is shown once",
      "webhooks list": "list the webhooks, their last delivery and their failed events",
      "webhooks test ID": "send a test message",
      "webhooks resend ID": "send failed events again",
      "webhooks revoke ID": "revoke a webhook",
    },
    flags: {
      project,
      url: {
        type: "string",
        value: "URL",
        help: "create: an https address, or http in a network listed in `--webhook-private`",
      },
      events: {
        type: "string",
        value: "A,B",
        help: `create: ${webhookEvents.join(", ")} (default: all)`,
      },
      json: {
        type: "boolean",
        help:
          "print `{id, project_id, url, events, secret}`, `{webhooks}`, `{revoked}`, `{test}` or " +
          "`{resent}`",
      },
    },
    notes:
      "`webhooks test` uses the `--webhook-private` of this command. `waypost serve` sends all " +
      "other messages, with its own settings.",
  },
  import: {
    usages: {
      "import FILE": "change many links from CSV or JSON; shows the plan and asks first",
    },
    operand: [
      "FILE",
      "CSV with columns named like the fields of a link, a JSON list of links, or an export of " +
        "Firebase Dynamic Links, Bitly, Branch or Short.io; `-` is stdin",
    ],
    flags: {
      operation: {
        type: "string",
        value: "NAME",
        help: "upsert (create, or overwrite the link with the same path), update or delete",
      },
      yes,
      json: { type: "boolean", help: "print `{plan, job}`" },
    },
    notes:
      "If a row is invalid, nothing is changed. Ctrl-C stops after the rows already in " +
      "progress.",
  },
  export: {
    usages: { export: "write all links, or those that match filters, to one file" },
    flags: {
      format: {
        type: "string",
        value: "csv|json",
        help: "csv or json (default: the extension of `--output`, otherwise csv)",
      },
      filter,
      search,
      output: {
        type: "string",
        value: "FILE",
        help: "write to FILE instead of stdout; a failed export leaves no file",
      },
      force: { type: "boolean", help: "overwrite FILE" },
      json: { type: "boolean", help: "print `{export: {file, count, format}}`, with `--output`" },
    },
  },
  stats: {
    usages: { "stats [PATH]": "clicks on one link, on those that match filters, or on all links" },
    flags: {
      from: {
        type: "string",
        value: "DATE",
        help: "the first day, such as `2026-11-16`, or a time (default: seven days up to today)",
      },
      to: {
        type: "string",
        value: "DATE",
        help: "the last day, which is included (default: today)",
      },
      by: {
        type: "string",
        value: "NAME",
        help: "group by hour, day, week, month, platform, referrer, country, source or link",
      },
      compare: {
        type: "boolean",
        help: "compare with the previous period of the same length",
      },
      filter: { ...filter, help: "same as for `export`" },
      search: { ...search, help: "same as for `export`" },
      json: { type: "boolean", help: "print `{stats}`" },
    },
  },
  jobs: {
    usages: {
      jobs: "list finished and interrupted jobs",
      "jobs show ID": "show a job and its rows",
      "jobs resume ID": "resume a job",
      "jobs cancel ID": "cancel a job",
      "jobs undo ID": "undo what a job did",
    },
    flags: {
      page: { ...page, help: "list, show: the page to print" },
      failed: {
        type: "boolean",
        help: "show: only rows that were rejected or whose outcome is unknown",
      },
      yes: { type: "boolean", help: "undo: skip the confirmation" },
      json: {
        type: "boolean",
        help: "print `{jobs, meta}`, `{job, meta}`, `{job}` or `{plan, job}`",
      },
    },
  },
  bin: {
    usages: {
      "bin list": "list deleted links and apps of the last 30 days",
      "bin restore ID": "restore a deleted link or app; `bin list` prints its ID",
      "bin empty": "permanently delete everything in the bin",
    },
    flags: {
      project,
      page: { ...page, help: "list: the page to print (100 entries per page)" },
      yes: { type: "boolean", help: "empty: skip the confirmation" },
      json: { type: "boolean", help: "print `{bin, meta}`, the link or app, or `{emptied}`" },
    },
  },
  backup: {
    usages: {
      "backup FILE": "copy the data folder into one new file, while Waypost keeps running",
    },
    operand: ["FILE", backupContents],
    flags: {
      json: { type: "boolean", help: "print `{backup}`: its size, time and files" },
    },
  },
  restore: {
    usages: { "restore FILE": "restore a backup into an empty data folder" },
    flags: {
      json: { type: "boolean", help: "print `{restore}`: the folder, the backup's time and files" },
    },
    notes: "`--data` names an empty folder. If the restore is interrupted, run it again.",
  },
  migrate: {
    usages: {
      "migrate --to URL": "move everything to another folder or database, while Waypost is stopped",
    },
    flags: {
      to: {
        type: "string",
        value: "URL",
        help:
          "`sqlite:FOLDER`, an empty data folder (Waypost writes two database files there), or " +
          "`postgres://user@host:5432/name`, an empty database. Pass its password in " +
          "`PGPASSWORD`, where other users cannot read it. If the copy stops, run it again",
      },
      json: { type: "boolean", help: "print `{migrate}`: the tables with their row counts" },
    },
  },
  help: {
    usages: {
      "help TOPIC": "show a page of the documentation; `waypost help topics` lists them",
    },
    flags: {},
  },
} as const satisfies Readonly<Record<string, Command>>;

export type CommandName = keyof typeof commandList;

/** The flags of a command, once they are read. */
export type FlagsOf<Name extends CommandName> = (typeof commandList)[Name]["flags"];
