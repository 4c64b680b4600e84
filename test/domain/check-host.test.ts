import { describe, expect, test } from "vitest";
import { checkHost } from "../../src/domain/check-host.ts";
import type { ExpectedFiles } from "../../src/domain/expected.ts";
import type { FetchedFile } from "../../src/network/hosts/fetch-file.ts";

/** Findings about an unreachable host; test/mcp/tools/check-domain.test.ts has more. */

const now = Date.UTC(2026, 0, 15);
const nothingRead: ExpectedFiles = { files: {}, findings: [], hasApps: () => false };

async function check(origin: string, fetched: FetchedFile) {
  const report = await checkHost({
    origin,
    expected: nothingRead,
    fetchFile: () => Promise.resolve(fetched),
    now,
    signal: new AbortController().signal,
  });
  return report.findings.map(({ severity, code, message }) => [`${severity} ${code}`, message]);
}

const good = (certifiedUntil: number): FetchedFile => {
  const body = Buffer.from("[]");
  const headers = new Map([["content-type", "application/json"]]);
  return { kind: "answered", status: 200, headers, body, isCut: false, certifiedUntil };
};

describe("check_domain", () => {
  test.each([
    ["CERT_HAS_EXPIRED", "has expired"],
    ["CERT_NOT_YET_VALID", "not valid yet"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "for other hosts"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "without its intermediate"],
    ["CERT_REVOKED", "is not valid"],
    ["INVALID_PURPOSE", "is not valid"],
    ["INVALID_CA", "is not valid"],
    ["PATH_LENGTH_EXCEEDED", "is not valid"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS connection to"],
    ["EPROTO", "TLS connection to"],
  ])("explains why a connection is untrusted for the error code %s", async (code, words) => {
    const found = await check("https://go.example", { kind: "untrusted", code });
    expect(found).toEqual([["error tls_invalid", expect.stringContaining(words)]]);
    expect(found.flat().join()).not.toContain(code);
  });
});

test.each([
  ["not_public", "host_not_public"],
  ["refused", "host_refuses"],
  ["unreachable", "host_unreachable"],
  ["timed_out", "host_too_slow"],
  ["unreadable", "host_unreadable"],
] as const)(
  "check_domain reports exactly one problem for the request outcome %s",
  async (kind, code) => {
    expect(await check("https://go.example", { kind })).toEqual([
      [`error ${code}`, expect.stringContaining('"go.example"')],
    ]);
  },
);

test("check_domain warns about a certificate that expires within two weeks", async () => {
  const day = 24 * 60 * 60_000;
  const listCodes = async (days: number) => {
    const found = await check("https://go.example", good(now + days * day));
    return found.map(([code]) => code).filter((code) => code?.includes("tls"));
  };
  expect(await listCodes(15)).toEqual([]);
  expect(await listCodes(13)).toEqual(["warning tls_ends_soon"]);
});

test("check_domain reports a link origin whose links cannot open an app", async () => {
  expect(await listUnreached("http://go.example")).toContain("warning links_over_http");
  expect(await listUnreached("https://go.example:8443")).toContain("error links_have_port");
  expect(await listUnreached("http://spring.localhost:8787")).toEqual(["error host_local"]);
  expect(await listUnreached("http://127.0.0.1:8787")).toEqual(["error host_local"]);
});

async function listUnreached(origin: string) {
  return (await check(origin, { kind: "not_public" })).map(([code]) => code);
}
