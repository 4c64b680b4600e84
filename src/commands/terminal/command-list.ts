import { webhookEvents } from "../../contract/webhook-events.ts";
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
  help: "do not ask, for scripts; without it, a person must answer in a terminal",
} as const;

const project = {
  type: "string",
  value: "NAME",
  help: "id or subdomain; needed only if there are several projects",
} as const;

const page = {
  type: "string",
  value: "N",
  help: "a page of the list",
} as const;

const filter = {
  type: "string",
  multiple: true,
  value: "NAME=VALUE",
  help:
    "a field and a condition, such as `name_cont=spring`; with `_in` a list (`a,b`), with " +
    "`_null`, `_present` and `_empty` true or false; several must all match",
} as const;

const search = {
  type: "string",
  value: "TEXT",
  help: "words in name, path, url or title, or the address of a link",
} as const;

const backupContents =
  "contains projects, keys, links, clicks, apps, templates and the bin; plans, jobs, approvals, " +
  "history and secrets; `owner.key` and `http.token`: keep it private. It has no exports, and no " +
  "files that other settings name, such as the PIN file";

export const commandList = {
  stdio: {
    usages: {
      "": "MCP over stdin and stdout, for a client that starts it (also: stdio)",
    },
    flags: {},
  },
  serve: {
    usages: {
      serve:
        "links on their own hosts, MCP at `/mcp`, the REST API at `/api/v1`, `/healthz` and " +
        "`/readyz`, approval pages, and the console for a browser",
    },
    flags: { json: { type: "boolean", help: "print one line of JSON when it is ready" } },
  },
  connect: {
    usages: {
      "connect CLIENT": "print the entry for an MCP client, or write it into the client's file",
    },
    operand: [
      "CLIENT",
      "claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf or zed",
    ],
    flags: {
      write: {
        type: "boolean",
        help: "add the entry to the client's file, and keep everything else in it",
      },
      remove: { type: "boolean", help: "take the entry out of the file again" },
      workspace: {
        type: "boolean",
        help:
          "the file of the project in this folder, not the user's; claude-desktop and windsurf " +
          "have none",
      },
      yes,
    },
    notes:
      "`--data` and `--base-url` become arguments of the entry. For a key, set " +
      "`WAYPOST_API_KEY_FILE`.",
  },
  tools: {
    usages: { tools: "list the tools of this configuration, their access and token cost" },
    flags: { json },
  },
  openapi: {
    usages: { openapi: "print the OpenAPI document of the REST API" },
    flags: {},
  },
  console: {
    usages: { console: "print an address that signs you in to the console, once" },
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
        help: "create: only these scopes; without this flag, all scopes",
      },
      role: {
        type: "string",
        value: "ROLE",
        help:
          "create: viewer, manager or owner (owner); a viewer reads links, statistics and apps, " +
          "and changes nothing",
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
          "print `{id, token, scopes, role, project_id}`; of `--client` " +
          "`{id, token, project_id}`",
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
        help: "the name, which visitors of the home page see",
      },
      subdomain: {
        type: "string",
        value: "NAME",
        help: "the first part of the link host; after a change, no old address opens any more",
      },
      plan: { type: "string", value: "free|pro", help: "the plan (pro)" },
      "max-links": {
        type: "string",
        value: "N",
        help: "how many links the free plan allows (1000)",
      },
      templates: {
        type: "string",
        value: "on|off",
        help: "whether the project has page templates (on)",
      },
      suspend: {
        type: "string",
        value: "on|off",
        help: "a suspended project's links and keys stop working",
      },
      "custom-domain": {
        type: "string",
        value: "DOMAIN",
        help: "a domain of its own, for its links",
      },
      "verify-domain": {
        type: "boolean",
        help: "update: verify the custom domain by its TXT record, which `--custom-domain` prints",
      },
      "assume-verified": { type: "boolean", help: "skip the check of that record" },
      "link-in-referrer": {
        type: "string",
        value: "on|off",
        help: "send the link to Android apps through Google Play",
      },
      clipboard: {
        type: "string",
        value: "on|off",
        help:
          "on iPhones, the App Store button of the preview page copies an address that a newly " +
          "installed app can use once to find its link (off)",
      },
      destinations: {
        type: "string",
        value: "A,*.B",
        help: "the only hosts that new or changed links may redirect to (any)",
      },
      home: {
        type: "string",
        value: "URL",
        help: 'where the root of the link host redirects; `""` clears it',
      },
      "not-found": {
        type: "string",
        value: "URL",
        help: 'where an address without a link redirects; `""` clears it',
      },
      json,
    },
  },
  webhooks: {
    usages: {
      "webhooks create": "send events to a web address of yours; its secret is shown once",
      "webhooks list": "list the webhooks, their last delivery and their failed events",
      "webhooks test ID": "send a test message",
      "webhooks resend ID": "resend events that failed",
      "webhooks revoke ID": "revoke a webhook",
    },
    flags: {
      project,
      url: {
        type: "string",
        value: "URL",
        help: "create: an https address, or http in a network of `--webhook-private`",
      },
      events: {
        type: "string",
        value: "A,B",
        help: `create: ${webhookEvents.join(", ")} (all)`,
      },
      json: {
        type: "boolean",
        help:
          "print `{id, project_id, url, events, secret}`, `{webhooks}`, `{revoked}`, `{test}` or " +
          "`{resent}`",
      },
    },
    notes:
      "test uses the `--webhook-private` of this command. `waypost serve` sends the events " +
      "themselves.",
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
        help: "csv, or the extension of `--output`",
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
    usages: { "stats [PATH]": "clicks of one link, of those that match filters, or of all links" },
    flags: {
      from: {
        type: "string",
        value: "DATE",
        help: "`2026-11-16`, or a time (seven days, up to today)",
      },
      to: { type: "string", value: "DATE", help: "the last day, included" },
      by: {
        type: "string",
        value: "NAME",
        help: "hour, day, week, month, platform, referrer, country, source or link",
      },
      compare: {
        type: "boolean",
        help: "compare with the period before, of the same length",
      },
      filter: { ...filter, help: "as for `export`" },
      search: { ...search, help: "as for `export`" },
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
      page: { ...page, help: "a page of the jobs, or of the rows of one job" },
      failed: {
        type: "boolean",
        help: "show: only rows that were rejected or whose outcome is unknown",
      },
      yes: { type: "boolean", help: "undo: do not ask" },
      json: {
        type: "boolean",
        help: "print `{jobs, meta}`, `{job, meta}`, `{job}` or `{plan, job}`",
      },
    },
  },
  bin: {
    usages: {
      "bin list": "list deleted links and apps of the last 30 days",
      "bin restore ID": "restore one; the ID is the UUID that `bin list` prints",
      "bin empty": "delete everything in the bin for good",
    },
    flags: {
      project,
      page: { ...page, help: "list: a page of 100 entries" },
      yes: { type: "boolean", help: "empty: do not ask" },
      json: { type: "boolean", help: "print `{bin, meta}`, the link or app, or `{emptied}`" },
    },
  },
  backup: {
    usages: {
      "backup FILE": "copy everything into one new file, while Waypost keeps running",
    },
    operand: ["FILE", backupContents],
    flags: {
      json: { type: "boolean", help: "print `{backup}`: its tables with their rows and digests" },
    },
  },
  restore: {
    usages: { "restore FILE": "restore a backup into an empty data folder or database" },
    flags: {
      json: { type: "boolean", help: "print `{restore}`: its tables with their rows and digests" },
    },
    notes:
      "`--data` names an empty folder; with `--database-url`, the database must be empty too. If " +
      "it is interrupted, run it again.",
  },
  migrate: {
    usages: {
      "migrate --to URL": "copy everything to another folder or database, while Waypost is stopped",
    },
    flags: {
      to: {
        type: "string",
        value: "URL",
        help:
          "`sqlite:FOLDER`, an empty data folder (Waypost writes two database files there), or " +
          "`postgres://user@host:5432/name`, an empty database. Pass its password in " +
          "`PGPASSWORD`, where other users cannot read it. If it is interrupted, run it again",
      },
      json: { type: "boolean", help: "print `{migrate}`: its tables with their rows and digests" },
    },
  },
  help: {
    usages: {
      "help TOPIC": "show a page of the documentation; `waypost help topics` lists them",
    },
    flags: {},
  },
} as const satisfies Readonly<Record<string, Command>>;

type CommandName = keyof typeof commandList;

/** The flags of a command, once they are read. */
export type FlagsOf<Name extends CommandName> = (typeof commandList)[Name]["flags"];
