import {
  isGroup,
  isSign,
  isWord,
  readName,
  readStatements,
  splitAt,
  type Node,
} from "./sql-nodes.ts";
import { readConditions, readColumn, type Condition, type Reference } from "./sql-conditions.ts";
import { readSources, type Source } from "./sql-sources.ts";

/**
 * What a statement asks of tables that are spread over machines: whether it says of each of them
 * which machine it means, and of a project's table on one machine whose rows. It says so by an
 * equality of the column by which the table is spread with a value, with a list of values, or with
 * a column of which that is known; in what it inserts, by naming that column. What stands beside
 * `or` says nothing, and an outer join says nothing of the table on its left.
 */

export type Spread = ReadonlyMap<
  string,
  {
    /** What tells whose a row is, where there is such a column. */
    readonly by: string | undefined;
    /** It stays on one machine. */
    readonly isAlone: boolean;
  }
>;

type Item = Source & {
  /** By which its rows are spread. */
  readonly by: string | undefined;
  /** Its rows stand in the statement itself. */
  readonly isGiven: boolean;
};

type Scope = {
  readonly items: readonly Item[];
  /** The columns of which it is known what is in them. */
  readonly pinned: ReadonlySet<string>;
  readonly outer: Scope | undefined;
};

type Context = {
  readonly spread: Spread;
  /** The names that a statement gives to queries, and which of those are lists of values. */
  readonly named: ReadonlyMap<string, boolean>;
  readonly outer: Scope | undefined;
  /** The tables that were met. */
  readonly met: Set<string>;
};

/** What is wrong with a text of statements; nothing where each says whose rows it means. */
export function findUnpinned(text: string, spread: Spread): readonly string[] {
  return readStatements(text).flatMap((nodes) => {
    if (!isWord(nodes[0], "with", "select", "insert", "update", "delete")) return [];
    const met = new Set<string>();
    const faults = checkQuery(nodes, { spread, named: new Map(), outer: undefined, met });
    const far = [...met].find((table) => spread.get(table)?.isAlone === false);
    const near = [...met].find((table) => spread.get(table)?.isAlone === true);
    const isMixed = far !== undefined && near !== undefined;
    return isMixed ? [...faults, `asks for ${far} and ${near}, which are apart`] : faults;
  });
}

function checkQuery(nodes: readonly Node[], context: Context): readonly string[] {
  if (isWord(nodes[0], "with")) return checkNamed(nodes.slice(1), context);
  const parts = splitAt(nodes, (node) => isWord(node, "union", "except", "intersect"));
  if (parts.length > 1) {
    return parts.flatMap((part) =>
      checkQuery(isWord(part[0], "all") ? part.slice(1) : part, context),
    );
  }
  const clauses = readClauses(nodes);
  const [first] = clauses;
  if (first === undefined) return [];
  return first.word === "insert" ? checkInsert(clauses, context) : checkRows(clauses, context);
}

/** `with name as (…), …` and the query that follows. */
function checkNamed(nodes: readonly Node[], context: Context): readonly string[] {
  const named = new Map(context.named);
  const faults: string[] = [];
  let at = 0;
  for (;;) {
    const name = readName(nodes[at]) ?? "";
    const body = nodes.findIndex((node, index) => {
      return index > at && isGroup(node) && isWord(nodes[index - 1], "as", "materialized");
    });
    const group = nodes[body];
    if (!isGroup(group)) throw new Error("a named query has no text");
    faults.push(...checkQuery(group.nodes, { ...context, named }));
    named.set(name, isWord(group.nodes[0], "values"));
    at = body + 1;
    if (!isSign(nodes[at], ",")) break;
    at += 1;
  }
  return [...faults, ...checkQuery(nodes.slice(at), { ...context, named })];
}

type Clause = { readonly word: string; readonly nodes: readonly Node[] };

const clauseWords: ReadonlySet<string> = new Set(
  `select insert update delete from using set values where group having order limit offset
  returning conflict`.split(/\s+/),
);

function readClauses(nodes: readonly Node[]): readonly Clause[] {
  const clauses: { word: string; nodes: Node[] }[] = [];
  nodes.forEach((node, at) => {
    const before = nodes[at - 1];
    // `is distinct from`, and `do update` of a conflict, begin nothing.
    const isPart = isWord(before, "distinct", "do") || isSign(before, ".");
    if (node.kind === "word" && clauseWords.has(node.text) && !isPart) {
      clauses.push({ word: node.text, nodes: [] });
    } else {
      clauses.at(-1)?.nodes.push(node);
    }
  });
  return clauses;
}

function find(clauses: readonly Clause[], word: string): readonly Node[] {
  return clauses.find((clause) => clause.word === word)?.nodes ?? [];
}

/** What reads, changes or deletes rows of tables. */
function checkRows(clauses: readonly Clause[], context: Context): readonly string[] {
  const sources = ["update", "from", "using"].flatMap((word) => {
    return readSources(find(clauses, word));
  });
  const items = sources.map((source) => describeItem(source, context));
  const conditions = [
    ...readConditions(find(clauses, "where")),
    ...sources.flatMap(({ on, alias, isOptional }) =>
      readConditions(on).map((condition) =>
        isOptional ? { ...condition, only: alias } : condition,
      ),
    ),
  ];
  const scope = pin(items, conditions, context.outer);
  const lacking = items.flatMap(({ table, alias, by }) =>
    by === undefined || scope.pinned.has(`${alias}.${by}`) ? [] : [`${table} lacks its ${by}`],
  );
  const moved = findMoved(items[0], find(clauses, "set"));
  return [...lacking, ...moved, ...checkInner(clauses, { ...context, outer: scope })];
}

function describeItem(source: Source, { spread, named, met }: Context): Item {
  const { table } = source;
  const isNamed = table !== undefined && named.has(table);
  if (table === undefined || isNamed) {
    return { ...source, by: undefined, isGiven: isNamed && named.get(table) === true };
  }
  met.add(table);
  return { ...source, by: spread.get(table)?.by, isGiven: false };
}

/** What is known of the columns, from the conditions that all hold. */
function pin(
  items: readonly Item[],
  conditions: readonly (Condition & { readonly only?: string })[],
  outer: Scope | undefined,
): Scope {
  const pinned = new Set<string>();
  const scope = { items, pinned, outer };
  const learn = (reference: Reference, only: string | undefined) => {
    const found = resolve(reference, scope);
    if (found === undefined || found.scope !== scope) return false;
    if (only !== undefined && found.alias !== only) return false;
    const name = `${found.alias}.${reference.column}`;
    const isNew = !pinned.has(name);
    pinned.add(name);
    return isNew;
  };
  for (let isMore = true; isMore;) {
    isMore = false;
    for (const { one, other, only } of conditions) {
      // Undefined is a value, or a list of them.
      const isOtherKnown = other === undefined || isKnown(other, scope);
      if (isOtherKnown && learn(one, only)) isMore = true;
      if (other !== undefined && isKnown(one, scope) && learn(other, only)) isMore = true;
    }
  }
  return scope;
}

function isKnown(reference: Reference, scope: Scope): boolean {
  const found = resolve(reference, scope);
  if (found === undefined) return false;
  const { alias, isGiven } = found;
  return isGiven || found.scope.pinned.has(`${alias}.${reference.column}`);
}

/** Whose column it is; without a table's name it is looked for among those that are asked about. */
function resolve(
  { alias, column }: Reference,
  scope: Scope | undefined,
): (Item & { readonly scope: Scope }) | undefined {
  if (scope === undefined) return undefined;
  const fitting = scope.items.filter((item) =>
    alias === undefined ? item.by === column : item.alias === alias,
  );
  const [item, another] = fitting;
  if (another !== undefined) return undefined;
  return item === undefined ? resolve({ alias, column }, scope.outer) : { ...item, scope };
}

/** A row stays on its machine: the column by which it is spread is never written anew. */
function findMoved(item: Item | undefined, set: readonly Node[]): readonly string[] {
  const by = item?.by;
  if (by === undefined) return [];
  const assigned = splitAt(set, (node) => isSign(node, ",")).map((part) => {
    const border = part.findIndex((node) => isSign(node, "="));
    return readColumn(part.slice(0, border))?.column;
  });
  return assigned.includes(by) ? [`${item?.table} is given another ${by}`] : [];
}

function checkInsert(clauses: readonly Clause[], context: Context): readonly string[] {
  const [into, ...rest] = clauses;
  const [source] = readSources(into?.nodes.slice(1) ?? []);
  if (source === undefined) throw new Error("an insert names no table");
  const item = describeItem(source, context);
  const { by, table, columns } = item;
  const conflict = find(clauses, "conflict").find(isGroup);
  const lacks = (names: readonly (string | undefined)[]) => by !== undefined && !names.includes(by);
  const faults = [
    ...(lacks(columns) ? [`${table} lacks its ${by}`] : []),
    ...(conflict && lacks(conflict.nodes.map(readName))
      ? [`${table} is found again without its ${by}`]
      : []),
    ...findMoved(item, find(clauses, "set")),
  ];
  const selected = rest.findIndex(({ word }) => word === "select");
  const end = rest.findIndex(({ word }) => word === "conflict" || word === "returning");
  const query = selected < 0 ? [] : rest.slice(selected, end < 0 ? undefined : end);
  const others = rest.filter((clause) => !query.includes(clause));
  return [
    ...faults,
    ...(query.length > 0 ? checkRows(query, context) : []),
    ...checkInner(others, context),
  ];
}

/** The queries inside of a query's parentheses. */
function checkInner(clauses: readonly Clause[], context: Context): readonly string[] {
  const look = (nodes: readonly Node[]): readonly string[] =>
    nodes.flatMap((node) => {
      if (!isGroup(node)) return [];
      const isQuery = isWord(node.nodes[0], "select", "with", "insert", "update", "delete");
      return isQuery ? checkQuery(node.nodes, context) : look(node.nodes);
    });
  return clauses.flatMap(({ nodes }) => look(nodes));
}
