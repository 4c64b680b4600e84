import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  databaseUrlRule,
  isDatabaseUrl,
  describeDatabase,
} from "../../src/network/database-url.ts";

/** Addresses of databases, which may contain a password. */

test.each([
  "postgres://db/links",
  "postgresql://ada@db:5432/links",
  "postgres://ada:se%2Fc%40ret@[::1]:5432/links?sslmode=verify-full&sslrootcert=/etc/root.pem",
  "postgres:///links?host=/var/run/postgresql",
  "postgres://ada@%2Fvar%2Frun/links",
  "postgres://ada:50%25@db/my%20links",
  "postgres://ada:with@signs:and:colons@db/links",
])("%s is a valid database URL", (url) => {
  expect(isDatabaseUrl(url)).toBe(true);
});

test("describeDatabase hides any password in a URL that isDatabaseUrl accepts", () => {
  const sign = fc.constantFrom(..."aZ09/?#@:%[]\\&=+ .-_~;,|\"'<>ü".split(""));
  const passwords = fc.string({
    unit: fc.oneof(sign, fc.constantFrom("%2F", "%40")),
    minLength: 1,
  });
  fc.assert(
    fc.property(passwords, fc.boolean(), (password, hasQuery) => {
      const query = hasQuery ? "?sslmode=verify-full" : "";
      const url = `postgres://ada:${password}@db.example:5432/links${query}`;
      const shown = isDatabaseUrl(url) ? describeDatabase(url) : databaseUrlRule;
      expect(["postgres://ada@db.example:5432/links", databaseUrlRule]).toContain(shown);
    }),
    { numRuns: 500 },
  );
});

test("a database URL with any percent-encoded password is accepted", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (password) => {
      const url = `postgres://ada:${encodeURIComponent(password)}@db.example/links`;
      expect(isDatabaseUrl(url)).toBe(true);
      expect(decodeURIComponent(new URL(url).password)).toBe(password);
    }),
  );
});
