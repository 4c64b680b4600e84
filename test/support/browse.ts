import { request } from "node:http";
import { gunzipSync } from "node:zlib";

/** A browser as far as the network sees it: it keeps cookies, and names where a form comes from. */
export type Browsing = {
  readonly open: (path: string, headers?: Headers) => Promise<Shown>;
  /** Fills in the first form of the page that is there, with its hidden fields, and sends it. */
  readonly submit: (fields: Fields, headers?: Headers) => Promise<Shown>;
  /** Sends a form that no page has. */
  readonly post: (path: string, fields: Fields, headers?: Headers) => Promise<Shown>;
  /** The same for one in which several fields have one name. */
  readonly postForm: (path: string, form: URLSearchParams, headers?: Headers) => Promise<Shown>;
  readonly cookies: Map<string, string>;
};

export type Shown = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** As it came over the network, packed or not. */
  readonly bytes: number;
  /** Where it was in the end. */
  readonly path: string;
};

type Headers = Readonly<Record<string, string>>;
type Fields = Readonly<Record<string, string>>;

/** Redirects are followed, as a browser does. */
export function browse(origin: string): Browsing {
  const cookies = new Map<string, string>();
  let last: Shown = { status: 0, headers: {}, text: "", bytes: 0, path: "/" };

  async function ask(path: string, headers: Headers, body?: string): Promise<Shown> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const sent = { accept: "text/html", ...(cookie !== "" && { cookie }), ...headers };
    last = { ...(await send(new URL(path, origin), sent, body)), path };
    for (const line of [last.headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const { location } = last.headers;
    return typeof location === "string" ? ask(location, {}) : last;
  }

  const post: Browsing["post"] = (path, fields, headers = {}) => {
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
  };
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

/** By Node's own client, which sends whatever host and origin it is given. */
function send(url: URL, headers: Headers, body?: string): Promise<Omit<Shown, "path">> {
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
