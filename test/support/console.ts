import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { type Serving, runJson, type Folder } from "./command.ts";
import { modernCall, post } from "./mcp-http.ts";

/** Use this for console pages if no browser is needed. It sends forms and keeps cookies. */

export type WebTab = {
  readonly open: (path: string, headers?: Headers) => Promise<ConsoleResponse>;
  /** Fills in and sends the first form of the current page, with its hidden fields. */
  readonly submit: (fields: Fields, headers?: Headers) => Promise<ConsoleResponse>;
  /** Sends a form that is on no page. */
  readonly post: (path: string, fields: Fields, headers?: Headers) => Promise<ConsoleResponse>;
  readonly postForm: (
    path: string,
    form: URLSearchParams,
    headers?: Headers,
  ) => Promise<ConsoleResponse>;
  readonly cookies: Map<string, string>;
  readonly paths: ReadonlyMap<string, string>;
};

export type ConsoleResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** The size of the response on the network, compressed or not. */
  readonly bytes: number;
  /** The path after all redirects. */
  readonly path: string;
};

type Headers = Readonly<Record<string, string>>;
type Fields = Readonly<Record<string, string>>;

/** Follows redirects, and sends a cookie only below its path, as a browser does. */
export function browse(origin: string): WebTab {
  const cookies = new Map<string, string>();
  const paths = new Map<string, string>();
  let last: ConsoleResponse = { status: 0, headers: {}, text: "", bytes: 0, path: "/" };

  async function ask(path: string, headers: Headers, body?: string): Promise<ConsoleResponse> {
    const sendable = [...cookies].filter(([name]) => isBelow(path, paths.get(name) ?? "/"));
    const cookie = sendable.map(([name, value]) => `${name}=${value}`).join("; ");
    const sent = { accept: "text/html", ...(cookie !== "" && { cookie }), ...headers };
    last = { ...(await send(new URL(path, origin), sent, body)), path };
    for (const line of [last.headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = "", within] =
        /^([^=]+)=([^;]*)(?:; Path=([^;]*))?/.exec(line) ?? [];
      paths.set(name, within ?? "/");
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const { location } = last.headers;
    return typeof location === "string" ? ask(location, {}) : last;
  }

  const post: WebTab["post"] = (path, fields, headers = {}) => {
    return ask(path, { ...formHeaders, origin, ...headers }, String(new URLSearchParams(fields)));
  };
  return {
    open: (path, headers = {}) => ask(path, headers),
    post,
    postForm: (path, form, headers = {}) =>
      ask(path, { ...formHeaders, origin, ...headers }, String(form)),
    submit: (fields, headers) => {
      const { text, path } = last;
      const [form = "", attributes = ""] =
        /<form([^>]*method="post"[^>]*)>[^]*?<\/form>/.exec(
          text.replace(/<header[^]*?<\/header>/, ""),
        ) ?? [];
      const action = /action="([^"]*)"/.exec(attributes)?.[1] ?? path;
      return post(action, { ...readHidden(form), ...fields }, headers);
    },
    cookies,
    paths,
  };
}

function isBelow(path: string, base: string): boolean {
  const [place = ""] = path.split("?");
  return base === "/" || place === base || place.startsWith(`${base}/`);
}

const formHeaders = { "content-type": "application/x-www-form-urlencoded" };

function readHidden(form: string): Fields {
  const found = [...form.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([tag]) => {
    const read = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
    return [read("name"), readMarkup(read("value"))] as const;
  });
  return Object.fromEntries(found);
}

function readMarkup(text: string): string {
  const signs: Readonly<Record<string, string>> = { quot: '"', lt: "<", gt: ">", "#39": "'" };
  return text
    .replace(/&(quot|lt|gt|#39);/g, (_, name: string) => signs[name] ?? "")
    .replaceAll("&amp;", "&");
}

/** Uses Node's own client, which can send any Host and Origin header. */
function send(url: URL, headers: Headers, body?: string): Promise<Omit<ConsoleResponse, "path">> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const { statusCode: status = 0, headers: answered } = response;
        const sent = Buffer.concat(chunks);
        const isPacked = answered["content-encoding"] === "gzip";
        const text = (isPacked ? gunzipSync(sent) : sent).toString("utf8");
        resolve({ status, headers: answered, text, bytes: sent.byteLength });
      });
      response.on("error", reject);
    });
    sent.on("error", reject).end(body);
  });
}

export async function signInAt(
  { places, key }: Pick<Serving, "places" | "key">,
  shown = key,
): Promise<WebTab> {
  const tab = browse(places.url);
  await tab.open("/sign-in");
  await tab.submit({ key: shown });
  return tab;
}

export async function readFormToken(tab: WebTab): Promise<string> {
  const { text } = await tab.open("/");
  return /name="form_token" value="([^"]+)"/.exec(text.replace(/\s+/g, " "))?.[1] ?? "";
}

/** A project with at least one of everything that the console shows, some with hostile names. */
export type ConsoleSample = {
  readonly link: string;
  readonly app: string;
  readonly key: string;
  readonly webhook: string;
  /** The id of the project whose key is `master`. */
  readonly project: string;
  readonly master: string;
  readonly approval: string;
};

type ServedFolder = { readonly serving: Serving; readonly folder: Folder };

/** More apps than fit on one page. */
const mostApps = 60;

/** If a script in it runs or an image loads, the page gets a mark. */
export const hostile =
  `"><script>window.hacked=1</script><img src=x onerror=window.hacked=1>` +
  `'&lt;\u202e${"x".repeat(60)}{{ project.name }} مرحبا`;

export async function plantConsole({ serving, folder }: ServedFolder): Promise<ConsoleSample> {
  const { id } = await serving.make("/links", {
    path: "größe/'\"<b>",
    name: hostile,
    url: "https://example.com/a?<script>",
  });
  for (let week = 1; week <= 25; week += 1) {
    const name = week % 5 === 0 ? hostile : `Week ${week}`;
    await serving.make("/links", { path: `week-${week}`, name, url: "https://example.com/week" });
  }
  const bundle_id = "com.example.app";
  const app = { bundle_id, team_id: "ABCDE12345", name: hostile, app_store_id: "1" };
  const { id: appId } = await serving.make("/ios_apps", { ios_app: app });
  for (let turn = 0; turn < mostApps; turn += 1) {
    const fingerprints = [Array.from({ length: 32 }, () => "AB").join(":")];
    const package_name = `com.example.a${turn}`;
    await serving.make("/android_apps", { android_app: { package_name, fingerprints } });
  }
  const inFolder = ["--data", folder.path];
  const { token: master } = await runJson(["keys", "create", "--master", ...inFolder]);
  const { id: key } = await runJson(["keys", "create", "--scopes", "links.show", ...inFolder]);
  // No install is matched here, so this webhook never gets a message.
  const told = ["--url", "https://example.com/'<b>hook", "--events", "install.matched"];
  const { id: webhook } = await runJson(["webhooks", "create", ...told, ...inFolder]);
  const named = ["--name", hostile, "--subdomain", "strange"];
  const { id: project } = await runJson(["projects", "create", ...named, ...inFolder]);
  await callTool(serving, "update_link", { id, social_title: hostile });
  await callTool(serving, "create_link", { path: "gone", name: hostile });
  const asked = await callTool(serving, "delete_link", { id: "week-1" });
  const approval = asked.error.approval.url;
  return { link: id, app: appId, key, webhook, project, master, approval };
}

export async function callTool({ places, key }: Serving, name: string, args: object) {
  const { text } = await post(places.mcp, modernCall(key, 1, name, args));
  const [, json = text] = /^data: (.*"result".*)$/m.exec(text) ?? [];
  return JSON.parse(json).result.structuredContent;
}
