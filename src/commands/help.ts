import { settingGroups, settingList, type Setting } from "../config/settings.ts";

export function renderHelp(): string {
  return [usage, renderSettings(), flags].join("\n\n");
}

const usage = `Waypost: dynamic links that an assistant can manage and that you host yourself.

  waypost                  MCP over stdin and stdout, for a client that starts it (also: stdio)
  waypost serve            links on their own hosts, MCP at /mcp, the REST API at /api/v1,
                           /healthz and /readyz, approval pages, and the console for a browser
  waypost connect CLIENT   print the entry for an MCP client, or write it into the client's file
  waypost tools            list the tools of this configuration, their access and token cost
  waypost openapi          print the OpenAPI document of the REST API
  waypost console          print an address that signs you in to the console, once
  waypost doctor           check the whole setup, without changing anything
  waypost health           check that serve is ready at --host and --port; exit code 0 or 1
  waypost keys create      create an API key; it is shown once
  waypost keys list        list the keys, without their tokens
  waypost keys revoke ID   revoke a key
  waypost projects create  create a project
  waypost projects list    list the projects and their settings
  waypost projects update ID-OR-SUBDOMAIN
  waypost webhooks create  send events to a web address of yours; its secret is shown once
  waypost webhooks list    list the webhooks, their last delivery and the events given up
  waypost webhooks test ID send a test message; also: revoke ID, resend ID (events given up)
  waypost import FILE      change many links from CSV or JSON; shows the plan and asks first
  waypost export           write all links, or those that match filters, to one file
  waypost stats [PATH]     clicks of one link, of those that match filters, or of all links
  waypost jobs             list finished and interrupted jobs; also: jobs show ID, jobs resume ID,
                           jobs cancel ID, jobs undo ID
  waypost bin list         list deleted links and apps of the last 30 days; also: bin restore ID,
                           bin empty
  waypost backup FILE      copy everything into one new file, while Waypost keeps running
  waypost restore FILE     restore a backup into an empty data folder or database
  waypost migrate --to URL copy everything to another folder or database, while Waypost is stopped
  waypost help TOPIC       show a page of the documentation; waypost help topics lists them`;

const flags = `serve, tools
  --json               JSON on stdout; serve prints one line of it when it is ready

connect CLIENT
  CLIENT               claude-desktop, claude-code, cursor, vscode, codex, gemini, windsurf or zed
  --write              add the entry to the client's file, and keep everything else in it
  --remove             take the entry out of the file again
  --workspace          the file of the project in this folder, not the user's; claude-desktop and
                       windsurf have none
  --yes                do not ask, for scripts; without it, a person must answer in a terminal
  --data, --base-url   become arguments of the entry. For a key, set WAYPOST_API_KEY_FILE

doctor
  --public             also check the link hosts over the internet, as phones see them: the same
                       checks as the tool check_domain

keys create
  --project NAME       id or subdomain; needed only if there are several projects
  --scopes A,B         only these scopes; without this flag, all scopes
  --role ROLE          viewer, manager or owner (owner); a viewer reads links, statistics and apps,
                       and changes nothing
  --master             a master key, which manages projects and nothing else
  --client             a client key for the SDK in an app: it can only look up the link that opened
                       or installed the app, and is not a secret
  --json               {id, token, scopes, role, project_id}; of --client {id, token, project_id}

projects create, projects update
  --name NAME          --subdomain NAME
  --plan free|pro      (pro)      --max-links N   on the free plan (1000)
  --templates on|off   (on)       --link-in-referrer on|off
  --suspend on|off     --custom-domain DOMAIN
  --verify-domain      update only: verify the custom domain by its TXT record, which
                       --custom-domain prints
  --assume-verified    skip the DNS check
  --clipboard on|off   (off)      on iPhones, the App Store button of the preview page copies an
                       address that a newly installed app can use once to find its link
  --destinations A,*.B (any)      the only hosts that new or changed links may redirect to
  --home URL           where the root of the project's link host redirects; "" clears it
  --not-found URL      where an address without a link redirects; "" clears it
  --json

webhooks create, webhooks list, webhooks revoke ID, webhooks test ID, webhooks resend ID
  --project NAME       id or subdomain; needed only if there are several projects
  --url URL            create: an https address, or http in a network of --webhook-private
  --events A,B         create: link.created, link.updated, link.deleted, link.clicked,
                       install.matched, job.finished, approval.waiting (all)
  --json               {id, project_id, url, events, secret}, {webhooks}, {revoked}, {test} or
                       {resent}
  test uses the --webhook-private of this command. waypost serve sends the events themselves.

import FILE
  FILE                 CSV with columns named like the fields of a link, a JSON list of links, or
                       an export of Firebase Dynamic Links, Bitly, Branch or Short.io; - is stdin
  --operation NAME     upsert (create, or overwrite the link with the same path), update, delete
  --yes                do not ask, for scripts; without it, a person must answer in a terminal
  --json               {plan, job} on stdout
  A file with an invalid row changes nothing. Ctrl-C stops after the rows already in progress.

export
  --format csv|json    (csv, or the extension of --output)
  --filter NAME=VALUE  a field and a condition, such as name_cont=spring; with _in a list (a,b),
                       with _null, _present, _empty true or false; several must all match
  --search TEXT        words in name, path, url or title, or the address of a link
  --output FILE        write to FILE instead of stdout; a failed export leaves no file
  --force              overwrite FILE
  --json               {export: {file, count, format}} on stdout, with --output

stats, stats PATH
  --from DATE          2026-11-16, or a time (seven days, up to today)
  --to DATE            the last day, included
  --by NAME            hour, day, week, month, platform, referrer, country, source or link
  --compare            compare with the period before, of the same length
  --filter, --search   as for export
  --json               {stats} on stdout

jobs, jobs show ID, jobs resume ID, jobs cancel ID, jobs undo ID
  --page N             a page of the jobs, or of the rows of one job
  --failed             show: only rows that were rejected or whose outcome is unknown
  --yes                undo: do not ask
  --json               {jobs, meta}, {job, meta}, {job} or {plan, job}

bin list, bin restore ID, bin empty
  ID                   the UUID that waypost bin list prints
  --project NAME       id or subdomain; needed only if there are several projects
  --page N             list: a page of 100 entries
  --yes                empty: do not ask
  --json               {bin, meta}, the link or app, or {emptied}

backup FILE, restore FILE
  FILE                 contains projects, keys, links, clicks, apps, templates and the bin; plans,
                       jobs, approvals, history and secrets; owner.key and http.token: keep it
                       private. It has no exports, and no files of other settings, such as a PIN
  --data DIR           restore: an empty folder (with --database-url, the database must be empty
                       too). If it is interrupted, run it again
  --json               {backup} or {restore}: its tables with their rows and digests

migrate
  --to URL             sqlite:FOLDER, an empty data folder (Waypost writes two database files
                       there), or postgres://user@host:5432/name, an empty database. Pass its
                       password in PGPASSWORD, where other users cannot read it. If it is
                       interrupted, run it again
  --json               {migrate}: its tables with their rows and digests

  --help               this text  --version

Exit codes: 0 done; 1 unexpected error, an unreachable database, a fault that doctor found, or
a row that failed; 2 a mistake in the input or settings, explained in one line on stderr;
130 stopped by Ctrl-C.`;

function renderSettings(): string {
  const sections = settingGroups.map((group) => {
    const members = settingList.filter((setting) => setting.group === group);
    return [`Settings: ${group.toLowerCase()}`, ...members.flatMap(renderSetting)].join("\n");
  });
  return ["A flag overrides its variable. Secrets have no flag.", ...sections].join("\n\n");
}

const textColumn = 52;

/** The flag and the variable, and the text in a column of its own. */
function renderSetting({ flag, value, variable, help, ...setting }: Setting): readonly string[] {
  const named = flag === undefined ? "" : `--${flag} ${value}`;
  const usual = setting.default || setting.unset;
  const hasDefault = usual !== undefined && usual !== "none";
  const text = hasDefault ? `${help} Default: ${usual}` : help;
  const lines = wrap(text.replaceAll("`", ""), 100 - textColumn);
  const head = `  ${named.padEnd(23)}${variable.padEnd(textColumn - 25)}`;
  return lines.map((line, at) => `${at === 0 ? head : " ".repeat(textColumn)}${line}`);
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const isFull = last === undefined || last.length + 1 + word.length > width;
    if (isFull) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
