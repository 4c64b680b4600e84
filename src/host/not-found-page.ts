import { createHash } from "node:crypto";
import { colours, font } from "../look/tokens.ts";
import { makeAnswer, quietHeaders } from "./http-answer.ts";

/**
 * The page for unknown and suspended projects. It is identical for both, so that it does not reveal
 * which projects exist.
 */

const { ground, ink, soft } = colours;
const style = [
  "body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;",
  `box-sizing:border-box;font:1.125rem/1.5 ${font};color:${ink[0]};background:${ground[0]}}`,
  `main{text-align:center}h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0;color:${soft[0]}}`,
  `@media(prefers-color-scheme:dark){body{color:${ink[1]};background:${ground[1]}}`,
  `p{color:${soft[1]}}}`,
].join("");

const html = [
  '<!doctype html><html lang="en"><head><meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width,initial-scale=1">',
  `<title>Link not found</title><style>${style}</style></head>`,
  "<body><main><h1>Link not found</h1><p>This link does not exist, or it no longer works.</p>",
  "</main></body></html>",
].join("");

const styleHash = createHash("sha256").update(style).digest("base64");

export const notFoundPage = makeAnswer(
  404,
  {
    ...quietHeaders,
    "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'`,
  },
  html,
);
