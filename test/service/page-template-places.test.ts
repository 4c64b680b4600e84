import { afterEach, beforeEach, expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";

/** Every problem of a template is told at once, and each has its place. */

const buttons = "{% store_buttons %}";

let world: World;

beforeEach(async () => {
  world = await createWorld();
});
afterEach(async () => {
  expect(world.reported).toEqual([]);
  await world[Symbol.asyncDispose]();
});

async function save(fields: object, action = "") {
  const method = action === "" ? "PATCH" : "POST";
  const reply = await world.call(method, `/page_template${action}`, { body: fields });
  expect(reply.status).toBe(422);
  return reply.body;
}

test("a text that is too long is told where it passes the limit, and looked at too", async () => {
  const body = `${buttons}\n<script></script>\n${"é".repeat(32_768)}\n\n<style></style>`;
  const css = `a{behavior:x}\n${" ".repeat(32_768)}b{behavior:x}`;
  const { error, problems } = await save({ body, css });
  expect(problems).toEqual([
    {
      field: "body",
      line: 3,
      column: 32_750,
      message: "Body is too long (maximum is 65536 bytes)",
    },
    { field: "css", line: 2, column: 32_755, message: "Css is too long (maximum is 32768 bytes)" },
    { field: "body", line: 2, column: 1, message: expect.stringContaining("<script>") },
    { field: "body", line: 5, column: 1, message: expect.stringContaining("<style>") },
    { field: "css", line: 1, column: 3, message: expect.stringContaining("behavior") },
    { field: "css", line: 2, column: 32_771, message: expect.stringContaining("behavior") },
  ]);
  expect(error).toContain("Body is too long (maximum is 65536 bytes), Css is too long");
});

test("a text that is much too long says that it was not looked at", async () => {
  const css = "a{behavior:x}";
  const { problems } = await save({ body: "<script></script>".repeat(10_000), css });
  expect(problems).toEqual([
    {
      field: "body",
      line: 1,
      column: 65_537,
      message: "Body is too long to be looked at (maximum is 65536 bytes)",
    },
    { field: "css", line: 1, column: 3, message: expect.stringContaining("behavior") },
  ]);
});

test("a character that cannot be stored has its place, and hides nothing", async () => {
  const { error, problems } = await save({
    body: `${buttons}\n😀\ud800<script></script>`,
    css: "a{\n\0behavior:x}",
  });
  const message = "contains characters that cannot be stored";
  expect(problems).toEqual([
    { field: "body", line: 2, column: 3, message: `Body ${message}` },
    { field: "css", line: 2, column: 1, message: `Css ${message}` },
    { field: "body", line: 2, column: 4, message: expect.stringContaining("<script>") },
    { field: "css", line: 2, column: 2, message: expect.stringContaining("behavior") },
  ]);
  expect(error).toMatch(/^Body contains .*, Css contains .*, Body line 2, column 4: /);
});

test("a blank body is told at its beginning, beside what is wrong with the css", async () => {
  const { error, problems } = await save({ body: "", css: "a{behavior:x}" }, "/publish");
  expect(problems).toEqual([
    { field: "body", line: 1, column: 1, message: "Body can't be blank" },
    { field: "css", line: 1, column: 3, message: expect.stringContaining("behavior") },
  ]);
  expect(error).toMatch(/^Body can't be blank and Css line 1, column 3: /);
});
