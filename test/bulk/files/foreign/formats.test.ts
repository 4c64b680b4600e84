import { describe, expect, test } from "vitest";
import { exportColumns } from "../../../../src/bulk/files/columns.ts";
import { readRows } from "../../../../src/bulk/rows/read-rows.ts";
import { readSource } from "../../read-source.ts";
import { drain } from "../../streams.ts";

/** Imports from other services: what becomes a field, and what is listed as not imported. */

describe("an import from Bitly", () => {
  test("reads API responses and prefers a custom back-half to a generated back-half", async () => {
    const bitlink = {
      created_at: "2021-05-01T10:00:00+0000",
      id: "bit.ly/3abc",
      link: "https://bit.ly/3abc",
      custom_bitlinks: ["https://go.example/spring"],
      long_url: "https://shop.example/",
      archived: false,
      tags: ["mail", "spring"],
      title: "Spring",
      deeplinks: [],
    };
    const plain = { ...bitlink, custom_bitlinks: [], archived: true };
    const two = {
      ...plain,
      id: "bit.ly/4",
      link: "https://bit.ly/4",
      custom_bitlinks: ["a.b/c", "a.b/d"],
    };
    const { rows, findings } = await readSource({
      rows: { links: [bitlink, plain, two], pagination: {} },
    });
    expect(rows.map(({ fields }) => fields)).toEqual([
      { name: "Spring", path: "spring", url: "https://shop.example/" },
      { name: "Spring", path: "3abc", url: "https://shop.example/" },
      { name: "Spring", path: "4", url: "https://shop.example/" },
    ]);
    expect(findings.format).toBe("Bitly");
    expect(findings.unmapped).toEqual([
      { field: "created_at", count: 3, example: "2021-05-01T10:00:00+0000" },
      { field: "id", count: 1, example: "bit.ly/3abc" },
      { field: "link", count: 1, example: "https://bit.ly/3abc" },
      { field: "tags", count: 3, example: "mail, spring" },
      { field: "archived", count: 2, example: "true" },
      { field: "custom_bitlinks", count: 1, example: "a.b/c, a.b/d" },
    ]);
  });

  test("reads dashboard exports and prefers a custom link to the generated link", async () => {
    const { rows, findings } = await readSource({
      csv: [
        "Created,Title,Link,Custom Link,Destination URL,Tags",
        "2024-05-01,Spring,https://bit.ly/3abc,https://go.example/spring,https://a.example/,mail",
        "2024-05-02,Summer,https://bit.ly/4def,,https://shop.example/summer,",
      ].join("\n"),
    });
    expect(rows.map(({ fields }) => fields)).toEqual([
      { name: "Spring", path: "spring", url: "https://a.example/" },
      { name: "Summer", path: "4def", url: "https://shop.example/summer" },
    ]);
    expect(findings.unmapped).toEqual([
      { field: "Created", count: 2, example: "2024-05-01" },
      { field: "Link", count: 1, example: "https://bit.ly/3abc" },
      { field: "Tags", count: 1, example: "mail" },
    ]);
  });

  test("reads CSV with the dashboard's or the API's column names", async () => {
    for (const header of ["Bitlink,Long URL,Title,Clicks", "link,long_url,title,clicks"]) {
      const { rows, findings } = await readSource({
        csv: `${header}\nhttps://bit.ly/3abc,https://shop.example/,"Spring, all",7\n`,
      });
      expect(rows[0]?.fields).toEqual({
        name: "Spring, all",
        path: "3abc",
        url: "https://shop.example/",
      });
      expect(findings.unmapped).toMatchObject([{ count: 1, example: "7" }]);
    }
  });
});

describe("an import from Branch", () => {
  test("reads links from the API and uses $fallback_url for platforms without a URL", async () => {
    const { rows, findings } = await readSource({
      rows: [
        {
          url: "https://shop.app.link/spring",
          alias: "spring",
          channel: "mail",
          tags: ["a", "b"],
          data: {
            $marketing_title: "Spring sale",
            $fallback_url: "https://shop.example/",
            $ios_url: "https://shop.example/ios",
            $og_title: "Spring",
            $og_description: "All of it",
            $og_image_url: "https://shop.example/a.png",
            $deeplink_path: "spring/1",
            product: { id: 5 },
            "~campaign": "spring",
          },
        },
      ],
    });
    expect(rows[0]?.fields).toEqual({
      name: "Spring sale",
      path: "spring",
      url: "https://shop.example/",
      social_title: "Spring",
      social_description: "All of it",
      social_image_url: "https://shop.example/a.png",
      ios_fallback_url: "https://shop.example/ios",
      android_fallback_url: "https://shop.example/",
    });
    expect(findings.format).toBe("Branch");
    expect(findings.unmapped).toEqual([
      { field: "channel", count: 1, example: "mail" },
      { field: "tags", count: 1, example: "a, b" },
      { field: "data.$deeplink_path", count: 1, example: "spring/1" },
      { field: "data.product.id", count: 1, example: "5" },
      { field: "data.~campaign", count: 1, example: "spring" },
    ]);
  });

  test("reads API responses and reports the app's custom data as not imported", async () => {
    const { rows, findings } = await readSource({
      rows: [
        {
          channel: "mail",
          data: {
            $desktop_url: "https://shop.example/",
            $ios_url: "https://shop.example/ios",
            $android_url: "https://shop.example/android",
            $fallback_url: "https://shop.example/old",
            $one_time_use: false,
            "~creation_source": 0,
            "+url": "https://shop.app.link/Wgiq",
            title: "A product",
            link: "https://shop.example/product",
            url: "https://shop.app.link/Wgiq",
          },
          type: 2,
          alias: null,
        },
      ],
    });
    expect(rows[0]?.fields).toEqual({
      path: "Wgiq",
      url: "https://shop.example/",
      ios_fallback_url: "https://shop.example/ios",
      android_fallback_url: "https://shop.example/android",
    });
    expect(findings.unmapped.map(({ field }) => field).toSorted()).toEqual([
      "channel",
      "data.$fallback_url",
      "data.$one_time_use",
      "data.link",
      "data.title",
      "data.~creation_source",
      "type",
    ]);
  });

  test("reads CSV with one column per field or with all data as JSON in one cell", async () => {
    const flat = await readSource({
      csv: [
        "url,$desktop_url,$android_url,~channel",
        "https://s.app.link/Ab1,https://a.example/,https://b.example/,mail",
      ].join("\n"),
    });
    expect(flat.rows[0]?.fields).toEqual({
      path: "Ab1",
      url: "https://a.example/",
      android_fallback_url: "https://b.example/",
    });
    expect(flat.findings.unmapped).toEqual([{ field: "~channel", count: 1, example: "mail" }]);
    const nested = await readSource({
      csv: [
        "url,~channel,data",
        'https://s.app.link/Ab1,,"{""$fallback_url"":""https://a.example/"",""x"":1}"',
      ].join("\n"),
    });
    expect(nested.rows[0]?.fields).toEqual({
      path: "Ab1",
      url: "https://a.example/",
      ios_fallback_url: "https://a.example/",
      android_fallback_url: "https://a.example/",
    });
    expect(nested.findings.unmapped).toEqual([{ field: "data.x", count: 1, example: "1" }]);
  });
});

describe("an import from Short.io", () => {
  const link = {
    originalURL: "https://shop.example/?a=1",
    path: "spring",
    shortURL: "https://go.example/spring",
    secureShortURL: "https://go.example/spring",
    idString: "lnk_1",
    title: "Spring",
    iphoneURL: "https://shop.example/ios",
    androidURL: null,
    utmSource: "mail",
    tags: [],
    archived: false,
    cloaking: false,
    expiresAt: 1_700_000_000_000,
  };

  test("reads API responses and adds the campaign parameters to the destination URL", async () => {
    const { rows, findings } = await readSource({
      rows: { links: [link], count: 1, nextPageToken: "x" },
    });
    expect(rows[0]?.fields).toEqual({
      name: "Spring",
      path: "spring",
      url: "https://shop.example/?a=1&utm_source=mail",
      ios_fallback_url: "https://shop.example/ios",
    });
    expect(findings.format).toBe("Short.io");
    expect(findings.unmapped).toEqual([
      { field: "idString", count: 1, example: "lnk_1" },
      { field: "expiresAt", count: 1, example: "1700000000000" },
    ]);
  });

  test("reports a password as not imported and hides its value", async () => {
    const { findings } = await readSource({ rows: [{ ...link, password: "hunter2" }] });
    expect(findings.unmapped).toContainEqual({ field: "password", count: 1, example: "(hidden)" });
  });

  test("keeps a URL's utm_source and reports a different utmSource as not imported", async () => {
    const same = { ...link, originalURL: "https://shop.example/?utm_source=mail" };
    const other = { ...link, path: "b", originalURL: "https://shop.example/?utm_source=web" };
    const { rows, findings } = await readSource({ rows: [same, other] });
    expect(rows.map(({ fields }) => fields.url)).toEqual([
      "https://shop.example/?utm_source=mail",
      "https://shop.example/?utm_source=web",
    ]);
    expect(findings.unmapped).toContainEqual({ field: "utmSource", count: 1, example: "mail" });
  });

  test("reads CSV exports", async () => {
    const { rows, findings } = await readSource({
      csv: "Original URL,Short URL,Title,Clicks\nhttps://a.example/,https://go.example/x/y,A,0\n",
    });
    expect(rows[0]?.fields).toEqual({ name: "A", path: "x/y", url: "https://a.example/" });
    expect(findings.unmapped).toEqual([{ field: "Clicks", count: 1, example: "0" }]);
  });
});

describe("an import from another service", () => {
  test("does not clear a field if the field's cell is empty", async () => {
    const { rows } = await readSource({
      csv: "link,long_url,title\nbit.ly/a,https://a.example/,\n",
    });
    expect(rows[0]?.fields).toEqual({ path: "a", url: "https://a.example/" });
  });

  test("reports invalid rows by line number", async () => {
    const { findings } = await readSource({
      csv: "link,long_url\nbit.ly/a,ftp://a.example/\nb.example/a,https://a.example/\n",
    });
    expect(findings).toMatchObject({
      problems: [
        { row: 2, field: "url", message: expect.stringMatching(/^Url must be an http/) },
        {
          row: 3,
          field: "path",
          message: "The same path is in lines 2 and 3; keep one of them",
        },
      ],
    });
  });

  test("cannot be used to delete links", async () => {
    const source = { csv: "link,long_url\nbit.ly/a,https://a.example/\n" };
    const [row] = await drain(readRows(source, "delete").rows);
    expect(row?.problems).toMatchObject([
      { field: "url", message: "A row to delete can have only id or path; remove url" },
    ]);
  });
});

test("an import lists the first 200 fields that are not imported and counts the rest", async () => {
  const data = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`key ${index}`, "x"]));
  const { findings } = await readSource({ rows: [{ $desktop_url: "https://a.example/", data }] });
  expect(findings.unmapped).toHaveLength(201);
  expect(findings.unmapped.at(-1)).toEqual({ field: "(others)", count: 100, example: "x" });
});

test("a file in Waypost's format is never treated as an import from another service", async () => {
  const whole = `${exportColumns.join(",")}\n`;
  for (const csv of [
    whole,
    "path,url,name\na,https://a.example/,A\n",
    "id,url\n,https://a.example/\n",
  ]) {
    expect((await readSource({ csv })).findings.format).toBeUndefined();
  }
  const { findings } = await readSource({ rows: [{ path: "a", ios_app: { bundle_id: "a.b" } }] });
  expect(findings).toMatchObject({ format: undefined, problems: [], unmapped: [] });
});
