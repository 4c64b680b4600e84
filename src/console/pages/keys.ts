import { randomUUID } from "node:crypto";
import type { ClientKey, ListedKey } from "../../admin/keys.ts";
import { makeFieldProblem } from "../../contract/problem.ts";
import { roles, scopes, type Role } from "../../contract/rights.ts";
import { describeKeyAccess, nameKey } from "../../text/secrets.ts";
import type { ChangeResult } from "../account.ts";
import type { ShownProblem } from "../records.ts";
import { createActPage } from "../act.ts";
import { splitLines, type Field, type Values } from "../form-fields.ts";
import { html, type Part } from "../html.ts";
import { renderPaging } from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import { renderBox, renderCard, renderPost, renderTable, type RowColumn } from "../parts.ts";
import { readPage, readParam } from "../read-address.ts";
import { createNewPage, showMadeBefore, showSecret } from "../record-page.ts";
import { renderTime } from "../render-changes.ts";

/** Lists, creates and revokes the project's API keys and client keys. */

const list = { name: "Keys", address: "/keys" };

const keysPage: Page = {
  path: /^\/keys$/,
  entry: {
    ...list,
    group: "Project",
    icon: "M13.5 5.8a3.3 3.3 0 1 1-6.6 0 3.3 3.3 0 0 1 6.6 0zM7.9 8.1 2.5 13.5M4.5 11.5l1.7 1.7",
  },
  needs: "list_keys",
  show: (request) => show(request),
};

const revoking = { needs: "change_keys", back: () => list.address };

const revokeKeyPage = createActPage({
  ...revoking,
  path: /^\/keys\/(?<id>[^/]+)\/revoke$/,
  run: ({ account, params }) => account.admin.revokeKey(readParam(params, "id")),
  done: ({ isOwn }) => (isOwn ? signedOut : { kind: "go", to: "/keys?done=revoked" }),
  failed: ({ message }, request) => show(request, message),
});

const revokeClientKeyPage = createActPage({
  ...revoking,
  path: /^\/keys\/client\/(?<id>[^/]+)\/revoke$/,
  run: ({ account, params }) => account.admin.revokeClientKey(readParam(params, "id")),
  done: () => ({ kind: "go", to: "/keys?done=revoked" }),
  failed: ({ message }, request) => show(request, message),
});

const newClientKeyPage = createActPage({
  ...revoking,
  path: /^\/keys\/client$/,
  run: ({ account }, form) => account.admin.createClientKey(form.read("once")),
  done: ({ token }) =>
    showSecret("client key", token, list, [
      ["Use it in", html`The SDK setting <code>clientAPIKey</code>, next to <code>baseURL</code>`],
    ]),
  failed: (failure) => showMadeBefore("client key", list, failure),
});

const role: Field = {
  name: "role",
  kind: "choice",
  hint: "A viewer reads links and apps. A manager also changes them. An owner may do everything.",
  choices: [
    { value: "viewer", name: "Viewer" },
    { value: "manager", name: "Manager" },
    { value: "owner", name: "Owner" },
  ] satisfies readonly { readonly value: Role; readonly name: string }[],
};
const access: Field = {
  name: "access",
  kind: "choice",
  choices: [
    { value: "full", name: "Everything that the role allows" },
    { value: "limited", name: "Only the selected scopes" },
  ],
};
const headings = [
  ["links", "Links"],
  ["short_links", "Short links"],
  ["ios_apps", "iOS apps"],
  ["android_apps", "Android apps"],
  ["page_templates", "Page template"],
] as const;
/** The verbs for the actions in scope names. */
const acts: Readonly<Record<string, string>> = {
  index: "list",
  show: "read",
  update: "change",
  destroy: "delete",
};
const limits: Field = {
  name: "scope",
  kind: "checks",
  groups: headings.map(([value, name]) => {
    const own = scopes.filter((scope) => scope.startsWith(`${value}.`));
    return { value, name, choices: own.map((scope) => ({ value: scope, name: nameAct(scope) })) };
  }),
};

function nameAct(scope: string): string {
  const [, act = ""] = scope.split(".");
  return acts[act] ?? act;
}

const newKeyPage = createNewPage({
  label: "key",
  address: "/keys/new",
  needs: "change_keys",
  list,
  button: "Create key",
  fields: [role, access, limits],
  usual: { role: "manager", access: "full" },
  makesOnlyOne: true,
  run: async ({ account }, typed, _, once) => {
    const request = readRequest(typed);
    return "kind" in request ? request : account.admin.createKey({ ...request, once });
  },
  done: (key) =>
    showSecret("key", key.token, list, [
      ["Access", describeKeyAccess(key.role, key.scopes)],
      ["Use it in", html`<code>Authorization: Bearer</code>, or in <code>WAYPOST_API_KEY</code>`],
    ]),
});

export const keyPages: readonly Page[] = [
  keysPage,
  newKeyPage,
  revokeKeyPage,
  newClientKeyPage,
  revokeClientKeyPage,
];

function readRequest(typed: Values) {
  const given = roles.find((name) => name === typed["role"]);
  const chosen = splitLines(typed["scope"]);
  const granted = scopes.filter((name) => chosen.includes(name));
  const isFull = typed["access"] === "full";
  const isUnknown = granted.length < new Set(chosen).size;
  const problems = [
    ...(given === undefined
      ? [makeFieldProblem("role", `must be one of ${roles.join(", ")}`)]
      : []),
    ...(isUnknown ? [{ field: "access", message: "Scopes is invalid" }] : []),
    ...(isFull === granted.length > 0
      ? [{ field: "access", message: isFull ? both : noScopes }]
      : []),
  ];
  return given === undefined || problems.length > 0
    ? refuse(problems)
    : { role: given, scopes: granted };
}

function refuse(problems: readonly ShownProblem[]): ChangeResult<never> {
  return { kind: "failed", failure: { code: "422", message: "", problems } };
}

const both = "You selected scopes. Choose “Only the selected scopes”, or clear the selection.";
/** Shown if no scope is selected, because an empty list of scopes grants full access. */
const noScopes =
  "Scopes can't be blank: choose at least one scope, or “Everything that the role allows”";

/** Shown after users revoke the key that they signed in with, which ends their session. */
const signedOut: Reply = {
  kind: "page",
  title: "Key revoked",
  body: html`<p class="soft">You were signed in with this key. Sign in with another one.</p>
    <p><a class="button" href="/sign-in">Sign in</a></p>`,
};

async function show(request: PageRequest, fault?: string): Promise<Reply> {
  const { account } = request;
  const answer = await account.admin.listKeys();
  const { keys, client_keys } =
    answer.kind === "done" ? answer.result : { keys: [], client_keys: [] };
  const shown = renderPage(request, "Keys", listColumns(request), keys, "page");
  return {
    kind: "page",
    title: "Keys",
    actions:
      account.mayUse("change_keys") && html`<a class="button main" href="/keys/new">New key</a>`,
    fault: fault ?? (answer.kind === "failed" && answer.failure.message),
    body: html`<p class="soft">
        Assistants and programs connect with a key. You choose what it may do when you create it.
      </p>
      ${renderBox("Keys", { below: shown })} ${renderClientKeys(request, client_keys)}`,
  };
}

const perPage = 25;

function renderPage<Key>(
  { url }: PageRequest,
  title: string,
  columns: readonly (RowColumn<Key> | false)[],
  keys: readonly Key[],
  name: string,
): Part {
  const page = readPage(url, name);
  const rows = keys.toReversed().slice((page - 1) * perPage, page * perPage);
  const meta = { page, last: Math.ceil(keys.length / perPage) };
  return html`${renderTable(title, columns, rows)}
  ${renderPaging(meta, title.toLowerCase(), `/keys?${name}=`)}`;
}

function listColumns(request: PageRequest): readonly (RowColumn<ListedKey> | false)[] {
  const { account } = request;
  const writeUse = ({ is_own, last_used_at }: ListedKey) =>
    is_own ? "now" : renderTime(last_used_at, account) || "never";
  return [
    {
      name: "Key",
      cell: (key) =>
        html`<code>${nameKey(key)}</code>
          ${key.is_own && html`<span class="tag">this session</span>`}
          ${key.is_kept && html`<span class="tag">this machine</span>`}
          <span class="granted">${describeKeyAccess(key.role, key.scopes)}</span>
          <span class="line soft early">Last used: ${writeUse(key)}</span>`,
    },
    { name: "Created", look: "late soft when", cell: (key) => renderTime(key.created_at, account) },
    { name: "Last used", look: "late soft when", cell: writeUse },
    createRevokeColumn(request, "/keys"),
  ];
}

function createRevokeColumn(request: PageRequest, above: string) {
  return (
    request.account.mayUse("change_keys") && {
      name: "Revoke",
      look: "number revoke",
      cell: (key: { readonly id: string }) => {
        const label = `Revoke ${nameKey(key)}…`;
        const button = html`<button class="small grave" aria-label="${label}">Revoke…</button>`;
        return renderPost(request, `${above}/${encodeURIComponent(key.id)}/revoke`, button);
      },
    }
  );
}

function renderClientKeys(request: PageRequest, keys: readonly ClientKey[]): Part {
  const { account } = request;
  const button = html`<button>New client key</button>`;
  const columns = [
    { name: "Client key", cell: (key: ClientKey) => html`<code>${nameKey(key)}</code>` },
    {
      name: "Created",
      look: "late soft when",
      cell: (key: ClientKey) => renderTime(key.created_at, account),
    },
    createRevokeColumn(request, "/keys/client"),
  ];
  return renderCard("Client keys", {
    inside: html`<p class="soft">
        The SDK in a mobile app uses a client key. The key is not a secret: it can only look up the
        link that opened or installed the app.
      </p>
      ${
        account.mayUse("change_keys") &&
        renderPost(request, "/keys/client", button, { once: randomUUID() })
      }`,
    below: keys.length > 0 && renderPage(request, "Client keys", columns, keys, "client"),
  });
}
