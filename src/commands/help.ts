export const help = `Waypost: dynamic links that an assistant can manage, and that you can host.

  waypost                  MCP over stdin and stdout, for a client that starts it (also: stdio)
  waypost serve            the links on their own hosts; MCP at /mcp, the REST API at /api/v1,
                           /healthz and /readyz, approval pages, the console for a browser
  waypost tools            the tools that this configuration shows, their access and cost
  waypost console          shows a terminal an address that signs in at the console, once
  waypost doctor           looks whether everything is set right, and changes nothing
  waypost keys create      make an API key; it is shown once
  waypost keys list        the keys, without their tokens
  waypost keys revoke ID   end a key
  waypost projects create  make a project
  waypost projects list    the projects and their settings
  waypost projects update ID-OR-SUBDOMAIN
  waypost webhooks create  have serve tell an address of ours what happens; its secret is shown once
  waypost webhooks list    the webhooks, the last delivery of each, and what was given up
  waypost webhooks test ID send it a message of nothing; revoke ID, resend ID (what was given up)
  waypost import FILE      many links at once, from CSV or JSON: shows the plan and asks first
  waypost export           every link, or those that filters name, as one file
  waypost stats [PATH]     how often links were visited: one, those that filters name, or all
  waypost jobs             imports that ran or were interrupted; jobs show, resume, cancel,
                           undo ID
  waypost bin list         deleted links and apps, kept for 30 days; bin restore ID, bin empty
  waypost backup FILE      everything in one new file, while others go on
  waypost restore FILE     a backup into an empty data folder, or database
  waypost migrate --to URL everything into another folder or database, while nothing else runs
  waypost help TOPIC       a page of the documentation; waypost help topics lists them

Settings (a flag wins over its variable)
  --base-url URL       WAYPOST_BASE_URL     a deployment elsewhere; without it, Waypost is its own
  --data DIR           WAYPOST_DATA         where everything is kept (~/.local/share/waypost)
  --database-url URL   WAYPOST_DATABASE_URL  everything in PostgreSQL instead:
                                            postgres://user:password@host:5432/database
  --mode MODE          WAYPOST_MODE         read-only, guarded (a person approves what destroys),
                                            full (nobody does)
  --tools A,B,-C       WAYPOST_TOOLS        only these groups (links, short_links, apps, projects,
                                            templates, bulk, history) and tools; -C takes away
  --scopes A,B         WAYPOST_SCOPES       what the key may do, where that is known
  --probe on|off       WAYPOST_PROBE        whether a remote server is asked what the key may do, by
                                            requests that change nothing (on)
  --destinations A,*.B WAYPOST_DESTINATIONS  the hosts that an assistant's links may lead to: any;
                                            *.B is what is below B
  --host HOST          WAYPOST_HOST         127.0.0.1
  --port PORT          WAYPOST_PORT         8787; 0 takes a free one
  --trusted-proxies A,B  WAYPOST_TRUSTED_PROXIES  networks (10.0.0.0/8,loopback), or how many
                                            proxies: who is believed whom they were called by
  --webhook-private A,B  WAYPOST_WEBHOOK_PRIVATE  private networks (10.0.0.0/8,loopback) that
                                            webhooks may lead to; else the public internet alone
  --link-origin URL    WAYPOST_LINK_ORIGIN  where links live: http://{subdomain}.localhost:PORT;
                                            with --base-url the origin of the project's links
  --second-origin URL  WAYPOST_SECOND_ORIGIN  a second name for the same links, by which the
                                            button of a link's page opens the app
  --public-url URL     WAYPOST_PUBLIC_URL   how others reach this server
  --geoip-file FILE    WAYPOST_GEOIP_FILE   a database of countries (.mmdb), which tells a visitor's
                                            by the address, where no header does
  --time-zone ZONE     WAYPOST_TIME_ZONE    for the console, approval pages, tables and days of
                                            statistics, such as Europe/Berlin; the machine's
  --log LEVEL          WAYPOST_LOG          silent, error, warn, info or debug

In a variable alone
  WAYPOST_ALLOW_HTTP   1 lets the key go over plain http to another machine
  WAYPOST_SERVE        on, or off: over stdio too, links open on this machine, at --port
  WAYPOST_CONSOLE      on, or off: the console, at the address of serve, for a browser
  WAYPOST_COUNTRY_HEADER  the header in which a proxy tells a visitor's country

Secrets, in variables alone
  WAYPOST_API_KEY, WAYPOST_API_KEY_FILE        the key; without --base-url the owner's of --data
  WAYPOST_DATABASE_URL_FILE                    a file with the database's address, for its password
  WAYPOST_HTTP_TOKEN, WAYPOST_HTTP_TOKEN_FILE  what callers of /mcp show where serve has a
                                               --base-url; made on the first start
  WAYPOST_APPROVAL_PIN_FILE                    a PIN that approval pages ask for; replaced by its
                                               hash on the first start
  WAYPOST_METRICS_TOKEN, WAYPOST_METRICS_TOKEN_FILE  what those show who read the metrics of serve,
                                               at /metrics; without it there are none

serve, tools
  --json               JSON on stdout; serve prints one line of it when it is ready

doctor
  --public             looks at the links' hosts as phones do, over the internet: what check_domain
                       finds at each of them

keys create
  --project NAME       id or subdomain; not needed where there is only one project
  --scopes A,B         only these; without it, full access
  --role ROLE          viewer, manager or owner (owner); a viewer reads links, statistics and apps,
                       and writes nothing
  --master             a key for projects and nothing else
  --client             a key for the SDK in an app, which everybody may read: it answers what the
                       SDK asks of its project's links, and no other route
  --json               {id, token, scopes, role, project_id}; of --client {id, token, project_id}

projects create, projects update
  --name NAME          --subdomain NAME
  --plan free|pro      (pro)      --max-links N   on the free plan (1000)
  --templates on|off   (on)       --link-in-referrer on|off
  --suspend on|off     --custom-domain DOMAIN
  --verify-domain      update only: the domain counts as the project's once the TXT record that
                       --custom-domain prints is in its DNS
  --assume-verified    skips the DNS check
  --clipboard on|off   (off)      on iPhones the App Store button of a link's page copies an address
                       that a new app can be told by, once
  --destinations A,*.B (any)      the hosts that links may lead to from now on
  --home URL           where the root of the project's link host leads; "" takes it away
  --not-found URL      where an address of no link leads, likewise
  --json

webhooks create, webhooks list, webhooks revoke ID, webhooks test ID, webhooks resend ID
  --project NAME       id or subdomain; not needed where there is only one project
  --url URL            create: an https address; http for networks of --webhook-private
  --events A,B         create: link.created, link.updated, link.deleted, link.clicked,
                       install.matched, job.finished, approval.waiting (all)
  --json               {id, project_id, url, events, secret}, {webhooks}, {revoked}, {test} or
                       {resent}
  A test goes out from this terminal, with its --webhook-private; what happens, from waypost serve.

import FILE
  FILE                 CSV with columns named like the fields of a link, a JSON list of links, or
                       what Firebase Dynamic Links, Bitly, Branch or Short.io export; - is stdin
  --operation NAME     upsert (creates, or overwrites what has the same path), update, delete
  --yes                go on without asking, for scripts; without it, a terminal has to answer
  --json               {plan, job} on stdout
  A file with a fault in it changes nothing. Ctrl-C stops after the rows that are on the way.

export
  --format csv|json    (csv, or what the name of --output says)
  --filter NAME=VALUE  a field and a condition, such as name_cont=spring; with _in a list (a,b),
                       with _null, _present, _empty true or false; repeated, all must hold
  --search TEXT        words of name, path, url or title, or the address of a link
  --output FILE        instead of stdout; whole or not at all
  --force              overwrites FILE
  --json               {export: {file, count, format}} on stdout, with --output

stats, stats PATH
  --from DATE          2026-11-16, or a time; today and the six days before
  --to DATE            the last day, counted too
  --by NAME            hour, day, week, month, platform, referrer, country, source or link
  --compare            beside the time before, as long
  --filter, --search   as for export
  --json               {stats} on stdout

jobs, jobs show ID, jobs resume ID, jobs cancel ID, jobs undo ID
  --page N             of jobs, or of the rows of one
  --failed             show: only the rows that were rejected, or of which nobody knows
  --yes                undo: without asking
  --json               {jobs, meta}, {job, meta}, {job} or {plan, job}

bin list, bin restore ID, bin empty
  --project NAME       id or subdomain; not needed where there is only one project
  --page N             list: of 100 each
  --yes                empty: without asking
  --json               {bin, meta}, the link or app, or {emptied}

backup FILE, restore FILE
  FILE                 holds projects, keys, links, clicks, apps, templates, the bin; plans, jobs,
                       approvals, history, secrets; owner.key and http.token: keep it private.
                       Not in it: files that settings name elsewhere (a PIN), exported files
  --data DIR           restore: a folder that holds nothing (with --database-url: as well as an
                       empty database). Killed, run it once more
  --json               {backup} or {restore}: its tables with their rows and digests

migrate
  --to URL             sqlite:FOLDER, a data folder that holds nothing (the store and what Waypost
                       remembers are two files in it); or postgres://user@host:5432/name,
                       an empty database; its password better in PGPASSWORD, where others do not
                       read it. Killed, run it once more
  --json               {migrate}: its tables with their rows and digests

  --help               this text  --version

Exit codes: 0 done, 1 unexpected, a fault that doctor found, or a row that could not be done,
2 something to set right; one line on stderr says what. 130 stopped by Ctrl-C.`;
