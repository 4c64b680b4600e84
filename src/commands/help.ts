export const help = `Waypost: dynamic links that you can host.

  waypost serve            the REST API at /api/v1 and /healthz, in one process
  waypost keys create      make an API key; it is shown once
  waypost keys list        the keys, without their tokens
  waypost keys revoke ID   end a key
  waypost projects create  make a project
  waypost projects list    the projects and their settings
  waypost projects update ID-OR-SUBDOMAIN

Settings (a flag wins over its variable)
  --data DIR           WAYPOST_DATA         where everything is kept (~/.local/share/waypost)
  --host HOST          WAYPOST_HOST         127.0.0.1
  --port PORT          WAYPOST_PORT         8787; 0 takes a free one
  --link-origin URL    WAYPOST_LINK_ORIGIN  where links live: http://{subdomain}.localhost:PORT
  --public-url URL     WAYPOST_PUBLIC_URL   how others reach this server
  --log LEVEL          WAYPOST_LOG          silent, error, warn, info or debug

serve
  --json               one line of JSON on stdout when it is ready

keys create
  --project NAME       id or subdomain; not needed where there is only one project
  --scopes A,B         only these; without it, full access
  --role ROLE          viewer, manager or owner (owner)
  --master             a key for projects and nothing else
  --json               {id, token, scopes, role, project_id}

projects create, projects update
  --name NAME          --subdomain NAME
  --plan free|pro      (pro)      --max-links N   on the free plan (1000)
  --templates on|off   (on)       --link-in-referrer on|off
  --suspend on|off     --custom-domain DOMAIN   --verify-domain
  --json

  --help               this text  --version

Exit codes: 0 done, 1 unexpected, 2 something to set right; one line on stderr says what.`;
