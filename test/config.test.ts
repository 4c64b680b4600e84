import { describe, expect, test } from "vitest";
import { readConfig, UsageFault } from "../src/config.ts";

/** Reading the configuration from environment variables and flags. */

const home = { HOME: "/home/ada" };

test("readConfig returns the defaults if nothing is set", () => {
  expect(readConfig(home, {})).toEqual({
    isDataNamed: false,
    console: true,
    data: "/home/ada/.local/share/waypost",
    host: "127.0.0.1",
    port: 8787,
    trusted_proxies: undefined,
    webhook_private: [],
    link_origin: undefined,
    second_origin: undefined,
    public_url: undefined,
    console_path: undefined,
    base_url: undefined,
    mode: "guarded",
    scopes: undefined,
    probe: "on",
    tools: [],
    destinations: undefined,
    log: "info",
    serve: true,
    secrets: {
      database_url: undefined,
      database_url_file: undefined,
      api_key: undefined,
      api_key_file: undefined,
      http_token: undefined,
      http_token_file: undefined,
      approval_pin_file: undefined,
    },
    given: { flags: new Set(), variables: new Set() },
  });
});

test("readConfig lists the settings that were set, except for empty values", () => {
  const environment = { ...home, WAYPOST_MODE: "full", WAYPOST_LOG: "", PATH: "/bin" };
  expect(readConfig(environment, { port: "0", host: "" }).given).toEqual({
    flags: new Set(["port"]),
    variables: new Set(["WAYPOST_MODE"]),
  });
});

test("WAYPOST_SERVE must be on or off", () => {
  expect(readConfig({ ...home, WAYPOST_SERVE: "off" }, {}).serve).toBe(false);
  expect(readConfig({ ...home, WAYPOST_SERVE: "on" }, {}).serve).toBe(true);
  const wrong = { ...home, WAYPOST_SERVE: "no" };
  expect(() => readConfig(wrong, {})).toThrow("WAYPOST_SERVE must be on or off");
});

function readConsolePath(WAYPOST_CONSOLE_PATH: string): string | undefined {
  return readConfig({ ...home, WAYPOST_CONSOLE_PATH }, {}).console_path;
}

describe("the console's path", () => {
  test.each([
    ["/", ""],
    ["/waypost", "/waypost"],
    ["/team/way.post_1/", "/team/way.post_1"],
  ])("is stored without a trailing slash: %s", (path, base) => {
    expect(readConsolePath(path)).toBe(base);
  });

  test.each([
    "waypost",
    "https://example.com/waypost",
    "//evil.example",
    "/a//b",
    "/a/../b",
    "/.",
    "/a b",
    '/"><script>',
    "/a?b",
    "/a#b",
    "/%2e%2e",
    "/sign-in",
    "/api/console",
    "/mcp",
  ])("is rejected if it is not a plain path or if Waypost reserves it: %s", (path) => {
    expect(() => readConsolePath(path)).toThrow(
      "WAYPOST_CONSOLE_PATH must be / or a path such as /waypost, of letters, digits and ~ . _ -" +
        ", and must not begin with /api, /approve, /mcp, /preview, /sign-in",
    );
  });
});

describe("the settings", () => {
  const settings = [
    ["WAYPOST_DATA", "data", "/srv/one", "/srv/two", "data"],
    ["WAYPOST_HOST", "host", "0.0.0.0", "::1", "host"],
    ["WAYPOST_LOG", "log", "silent", "debug", "log"],
    ["WAYPOST_TIME_ZONE", "time-zone", "Europe/Berlin", "Asia/Tokyo", "time_zone"],
    ["WAYPOST_MODE", "mode", "read-only", "full", "mode"],
    ["WAYPOST_PROBE", "probe", "off", "on", "probe"],
    ["WAYPOST_BASE_URL", "base-url", "https://one.example", "http://two.example:8", "base_url"],
    [
      "WAYPOST_PUBLIC_URL",
      "public-url",
      "https://one.example",
      "http://two.example/x",
      "public_url",
    ],
    [
      "WAYPOST_LINK_ORIGIN",
      "link-origin",
      "http://{subdomain}.a.b",
      "https://{subdomain}.c:8",
      "link_origin",
    ],
    [
      "WAYPOST_SECOND_ORIGIN",
      "second-origin",
      "http://{subdomain}.open.b",
      "https://{subdomain}.open.c:8",
      "second_origin",
    ],
  ] as const;

  test.each(settings)(
    "include the variable %s, which the flag --%s overrides",
    (variable, flag, one, other, name) => {
      expect(readConfig({ ...home, [variable]: one }, {})).toHaveProperty(name, one);
      expect(readConfig({ ...home, [variable]: one }, { [flag]: other })).toHaveProperty(
        name,
        other,
      );
      expect(readConfig({ ...home, [variable]: "" }, {})).toEqual(readConfig(home, {}));
    },
  );

  test("accept 0 as the port, which means any free port", () => {
    expect(readConfig({ ...home, WAYPOST_PORT: "80" }, {}).port).toBe(80);
    expect(readConfig({ ...home, WAYPOST_PORT: "80" }, { port: "0" }).port).toBe(0);
  });

  test("store the public URL without trailing slashes", () => {
    const { public_url } = readConfig(home, { "public-url": "https://links.example/base//" });
    expect(public_url).toBe("https://links.example/base");
  });

  test.each([
    ["the XDG data folder", { ...home, XDG_DATA_HOME: "/xdg" }, "/xdg/waypost"],
    ["the home folder", { ...home, XDG_DATA_HOME: "" }, "/home/ada/.local/share/waypost"],
    ["the user profile folder", { USERPROFILE: "/users/ada" }, "/users/ada/.local/share/waypost"],
    [
      "the user profile folder if HOME is empty",
      { HOME: "", USERPROFILE: "/u" },
      "/u/.local/share/waypost",
    ],
  ])("use a data folder in %s by default", (_, environment, folder) => {
    expect(readConfig(environment, {}).data).toBe(folder);
  });
});

test.each([
  ["https://{subdomain}.a.b", "https://{subdomain}.a.b/"],
  ["https://{subdomain}.a.b", "http://{subdomain}.a.b:8"],
  ["https://{subdomain}.a.b", "https://open-{subdomain}.a.b"],
  ["https://go-{subdomain}.a.b", "https://{subdomain}.a.b"],
  ["https://{subdomain}-go.a.b", "https://open-{subdomain}.a.b"],
  [undefined, "http://{subdomain}.localhost:1"],
  [undefined, "http://open-{subdomain}.localhost"],
])(
  "with the link origin %s, the second origin %s is refused because the two could share host names",
  (first, second) => {
    const flags = { "link-origin": first, "second-origin": second };
    expect(() => readConfig(home, flags)).toThrow(
      /--second-origin .* must not share host names with /,
    );
  },
);

test.each([
  ["https://{subdomain}.a.b", "https://{subdomain}.open.a.b"],
  ["https://{subdomain}.a.b", "https://{subdomain}.a.c"],
  ["https://go-{subdomain}.a.b", "https://open-{subdomain}.a.b"],
  [undefined, "http://{subdomain}.open.localhost"],
])("with the link origin %s, the second origin %s is accepted", (first, second) => {
  const flags = { "link-origin": first, "second-origin": second };
  expect(readConfig(home, flags).second_origin).toBe(second);
});

describe("settings for a remote server", () => {
  const remote = { ...home, WAYPOST_BASE_URL: "https://api.example" };

  test.each(["https://api.example/", "https://api.example/api/v1", "https://api.example/api/v1/"])(
    "accept %s as the server's URL",
    (url) => {
      expect(readConfig(home, { "base-url": url }).base_url).toBe("https://api.example");
    },
  );

  test("cannot include a second origin", () => {
    expect(() => readConfig(remote, { "second-origin": "https://{subdomain}.example" })).toThrow(
      "cannot be used with --base-url (WAYPOST_BASE_URL)",
    );
  });

  test("accept a link origin only without {subdomain}, as a key belongs to one project", () => {
    const flags = { "link-origin": "https://go.example/" };
    expect(readConfig(remote, flags).link_origin).toBe("https://go.example");
    expect(() => readConfig(remote, { "link-origin": "https://{subdomain}.example" })).toThrow(
      "must be the origin of the project's links, such as https://go.example.com",
    );
  });
});

test("a remote server's link origin must not contain a password", () => {
  const flags = { "base-url": "https://api.example", "link-origin": "https://:pw@go.example" };
  expect(() => readConfig(home, flags)).toThrow(/^--link-origin [^@]*$/);
});

describe("an API key for a remote server", () => {
  const secrets = [{ WAYPOST_API_KEY: "key" }, { WAYPOST_API_KEY_FILE: "/run/key" }];

  test.each(secrets)(
    "is sent over plain HTTP only to this machine unless WAYPOST_ALLOW_HTTP is 1: %j",
    (secret) => {
      const environment = { ...home, ...secret };
      const open = { "base-url": "http://api.example" };
      expect(() => readConfig(environment, open)).toThrow(/^--base-url .*WAYPOST_ALLOW_HTTP=1/);
      const allowed = { ...environment, WAYPOST_ALLOW_HTTP: "1" };
      expect(readConfig(allowed, open).base_url).toBe("http://api.example");
      for (const near of ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"]) {
        expect(readConfig(environment, { "base-url": near }).base_url).toBe(near);
      }
      expect(readConfig(environment, { "base-url": "https://api.example" })).toBeDefined();
    },
  );

  test("is optional, and plain HTTP is accepted without one", () => {
    expect(readConfig(home, { "base-url": "http://api.example" })).toBeDefined();
  });

  test("is allowed over plain HTTP by WAYPOST_ALLOW_HTTP=1 but not by the value true", () => {
    expect(() => readConfig({ ...home, WAYPOST_ALLOW_HTTP: "true" }, {})).toThrow(
      "WAYPOST_ALLOW_HTTP must be 1 or unset",
    );
  });
});

test("trusted proxies are given as networks or as a number of proxies", () => {
  const read = (text: string) => readConfig(home, { "trusted-proxies": text }).trusted_proxies;
  expect(read("2")).toEqual({ hops: 2 });
  expect(read("10.0.0.0/8, ::1")).toEqual({
    networks: [
      { address: "10.0.0.0", prefix: 8 },
      { address: "::1", prefix: 128 },
    ],
  });
  expect(readConfig({ ...home, WAYPOST_TRUSTED_PROXIES: "1" }, {}).trusted_proxies).toEqual({
    hops: 1,
  });
});

test("webhooks cannot send to private networks by default", () => {
  expect(readConfig(home, {}).webhook_private).toEqual([]);
  expect(readConfig({ ...home, WAYPOST_WEBHOOK_PRIVATE: "127.0.0.1/32" }, {})).toMatchObject({
    webhook_private: [{ address: "127.0.0.1", prefix: 32 }],
  });
});

test("items of a list setting are separated by commas, and spaces are ignored", () => {
  const config = readConfig(
    { ...home, WAYPOST_SCOPES: "links.index, links.show,", WAYPOST_TOOLS: " links ,-delete_link" },
    {},
  );
  expect(config.scopes).toEqual(["links.index", "links.show"]);
  expect(config.tools).toEqual(["links", "-delete_link"]);
});

test('WAYPOST_DESTINATIONS accepts host names, even in Unicode, or "any", but no URLs', () => {
  const read = (WAYPOST_DESTINATIONS: string) =>
    readConfig({ ...home, WAYPOST_DESTINATIONS }, {}).destinations;
  expect(read("Shop.example., *.Müller.example")).toEqual([
    "shop.example",
    "*.xn--mller-kva.example",
  ]);
  expect(readConfig(home, { destinations: "a.example" }).destinations).toEqual(["a.example"]);
  expect(read("any")).toBe(undefined);
  expect(() => read("https://shop.example")).toThrow(
    '--destinations (WAYPOST_DESTINATIONS) cannot contain "https://shop.example", which is a web ',
  );
});

test("an unknown scope is refused", () => {
  expect(() => readConfig(home, { scopes: "links.index,links.read" })).toThrow(
    /^--scopes \(WAYPOST_SCOPES\) may only contain links\.show, /,
  );
});

test("secrets are read only from environment variables, without surrounding whitespace", () => {
  const environment = { ...home, WAYPOST_API_KEY: " key\n", WAYPOST_HTTP_TOKEN: " " };
  const { secrets } = readConfig(environment, { "api-key": "other", api_key: "other" });
  expect(secrets.api_key).toBe("key");
  expect(secrets.http_token).toBeUndefined();
});

describe("invalid settings", () => {
  const wholeNumber = "--port (WAYPOST_PORT) must be a whole number from 0 to 65535";
  const origin =
    "--link-origin (WAYPOST_LINK_ORIGIN) must be an origin, such as " +
    "https://{subdomain}.links.example.com for several projects or https://go.example.com for one";
  const sharedHost =
    "--link-origin (WAYPOST_LINK_ORIGIN) must not have the host name of the API and the console " +
    "(--public-url); use another, such as https://go.example.com";
  const zone = "--time-zone (WAYPOST_TIME_ZONE) must be a time zone such as Europe/Berlin";
  const second =
    "--second-origin (WAYPOST_SECOND_ORIGIN) must be an origin with {subdomain} in its host name";
  const base = "--base-url (WAYPOST_BASE_URL) must be an http or https origin, without a path";
  const plain =
    "--public-url (WAYPOST_PUBLIC_URL) must not contain a user name, password, query or fragment";
  const proxies =
    "--trusted-proxies (WAYPOST_TRUSTED_PROXIES) must be networks, such as 10.0.0.0/8,loopback, " +
    "or the number of proxies, such as 1";
  const privates =
    "--webhook-private (WAYPOST_WEBHOOK_PRIVATE) must be networks, such as 10.0.0.0/8,loopback";
  const address = "--public-url (WAYPOST_PUBLIC_URL) must be an http or https address";
  const noLogin = "must not contain a user name or password";
  const baseLogin = `--base-url (WAYPOST_BASE_URL) ${noLogin}`;
  const originLogin = `--link-origin (WAYPOST_LINK_ORIGIN) ${noLogin}`;
  const secondLogin = `--second-origin (WAYPOST_SECOND_ORIGIN) ${noLogin}`;

  test.each([
    ["port", "http", wholeNumber],
    ["port", "-1", wholeNumber],
    ["port", "65536", wholeNumber],
    ["port", "80.5", wholeNumber],
    ["port", "0x50", wholeNumber],
    ["port", "1e3", wholeNumber],
    ["host", "a b", "--host (WAYPOST_HOST) must be a host name or an IP address"],
    ["link-origin", "http://localhost:8787", sharedHost],
    ["link-origin", "http://127.0.0.1:8787", sharedHost],
    ["link-origin", "https://go.example.com/links", origin],
    ["link-origin", "https://{subdomain}.{subdomain}.example", origin],
    ["link-origin", "https://{subdomain}.example/path", origin],
    ["link-origin", "https://links.example/{subdomain}", origin],
    ["link-origin", "ftp://{subdomain}.example", origin],
    ["link-origin", "{subdomain}.example", origin],
    ["second-origin", "https://links.example", second],
    ["public-url", "links.example", address],
    ["public-url", "ftp://links.example", address],
    ["base-url", "api.example", base],
    ["base-url", "ftp://api.example", base],
    ["base-url", "https://api.example/links", base],
    ["base-url", "https://ada@api.example", baseLogin],
    ["base-url", "https://:pw@api.example", baseLogin],
    ["base-url", "https://@api.example/api/v1", baseLogin],
    ["base-url", "https://api.example?", base],
    ["base-url", "https:\\\\api.example", base],
    ["link-origin", "https://:pw@{subdomain}.example", originLogin],
    ["link-origin", "https://{subdomain}:pw@links.example", originLogin],
    ["second-origin", "https://:pw@{subdomain}.example", secondLogin],
    ["public-url", "https://:pw@links.example", plain],
    ["public-url", "https://links.example/?a", plain],
    ["trusted-proxies", "10.0.0.0/33", proxies],
    ["trusted-proxies", "all", proxies],
    ["webhook-private", "10.0.0.0/33", privates],
    ["webhook-private", "2", privates],
    ["mode", "careful", "--mode (WAYPOST_MODE) must be one of read-only, guarded, full"],
    ["time-zone", "Europe/Berln", `${zone}; did you mean Europe/Berlin?`],
    ["time-zone", "new york", `${zone}; did you mean America/New_York?`],
    ["time-zone", "+01:00", zone],
    ["log", "loud", "--log (WAYPOST_LOG) must be one of silent, error, warn, info, debug"],
  ])("cause an error that contains the flag and variable: --%s %s", (flag, value, message) => {
    expect(() => readConfig(home, { [flag]: value })).toThrow(new UsageFault(message));
  });

  test("include a PIN file with --mode full, which never asks for a PIN", () => {
    const environment = { ...home, WAYPOST_APPROVAL_PIN_FILE: "/run/pin" };
    expect(() => readConfig(environment, { mode: "full" })).toThrow(
      "WAYPOST_APPROVAL_PIN_FILE is set, but --mode full shows no page",
    );
    expect(() => readConfig(environment, { mode: "guarded" })).not.toThrow();
  });

  test.each([
    "mysql://ada:hidden@db/links",
    "postgres://ada:hidden@db",
    "postgres://ada:hidden@[db/links",
    "postgres://ada:12/hidden@db/links",
    "postgres://ada:12/3?hidden@db/links",
    "postgres://ada:12/3#hidden@db/links",
    "postgres://ada:12?hidden@db/links",
    "postgres://ada:in@hid/den@db/links",
    "postgres://ada:in@hid/d?en@db/links",
    "postgres://ada%3Ahidden@db/links",
    "postgres://ada:%ff-hidden@db/links",
    "postgres://db/links/hidden",
    "postgres://db/links#hidden",
  ])("cause an error that hides the password in the database URL %s", (url) => {
    const message =
      "--database-url (WAYPOST_DATABASE_URL) must be " +
      "postgres://user:password@host:5432/database; percent-encode the password's special " +
      "characters (/ as %2F, @ as %40, ? as %3F, # as %23, % as %25)";
    expect(() => readConfig({ ...home, WAYPOST_DATABASE_URL: url }, {})).toThrow(
      new UsageFault(message),
    );
  });

  test("cause an error that hides the password if the data folder is a database URL", () => {
    const environment = { ...home, WAYPOST_DATA: "postgres://ada:hidden@db/links" };
    expect(() => readConfig(environment, {})).toThrow(
      new UsageFault(
        "--data (WAYPOST_DATA) must be a folder, not an address; set WAYPOST_DATABASE_URL to " +
          "use a database",
      ),
    );
  });

  test.each([
    { WAYPOST_DATABASE_URL: "postgres://db/links" },
    { WAYPOST_DATABASE_URL_FILE: "/url" },
  ])("include a database URL together with a base URL: %j", (environment) => {
    const message =
      "--database-url (WAYPOST_DATABASE_URL) cannot be used with --base-url (WAYPOST_BASE_URL)";
    expect(() =>
      readConfig({ ...home, ...environment }, { "base-url": "https://api.example" }),
    ).toThrow(new UsageFault(message));
  });
});
