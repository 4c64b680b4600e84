import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { docsFolder } from "../help/help-topics.ts";
import { canUnpack } from "../network/pack-page.ts";
import { assetPath } from "./asset-path.ts";

/** Styles and scripts, bundled by the build. Hashes in their URLs let browsers cache them. */

type SentAsset = {
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" } as const;
type Ending = keyof typeof types;

export function listAssets(ending: Ending, hasFrames: boolean): readonly string[] {
  const names = hasFrames ? (["page", "editor"] as const) : (["page"] as const);
  return names.map((name) => readAsset(`${name}.${ending}`).address);
}

export function isAsset(path: string): boolean {
  return path.startsWith(assetPath);
}

/** Compression is safe here, because assets contain no data from a request. */
export function findAsset(path: string, request: Request): SentAsset | undefined {
  const file = files.map(readAsset).find(({ address }) => address === path);
  if (file === undefined) return undefined;
  const headers = [
    ["cache-control", "public, max-age=31536000, immutable"],
    ["vary", "accept-encoding"],
  ] as const;
  if (!canUnpack(request)) return { type: file.type, body: file.text, headers };
  const body = (file.packed ??= gzipSync(file.text));
  return { type: file.type, body, headers: [...headers, ["content-encoding", "gzip"]] };
}

const files = ["page.css", "editor.css", "page.js", "editor.js"] as const;

type Asset = {
  readonly address: string;
  readonly type: string;
  readonly text: string;
  packed?: Uint8Array;
};

const assets = new Map<string, Asset>();

function readAsset(name: (typeof files)[number]): Asset {
  const known = assets.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(new URL(`../console/${name}`, docsFolder), "utf8");
  const ending: Ending = name.endsWith(".css") ? "css" : "js";
  const digest = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  const asset: Asset = { address: `${assetPath}${digest}.${ending}`, type: types[ending], text };
  assets.set(name, asset);
  return asset;
}
