import type { OpenApi, Operation } from "./openapi.ts";

/** The reference of the interface as an HTML page. */
export function referencePage({ info, paths }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const byTag = Object.entries(Object.groupBy(operations, ({ operation }) => operation.tags[0] ?? ""));
  const links = byTag.map(([tag]) => `<a href="#${escape(tag)}">${escape(tag)}</a>`);
  const sections = byTag.map(([tag, all = []]) => {
    const shown = all.map(({ path, method, operation }) => operationOf(method, path, operation));
    return `<section id="${escape(tag)}"><h2>${escape(tag)}</h2>${shown.join("")}</section>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(info.title)} HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/api/docs/style.css">
</head>
<body>
<header>
<h1>${escape(info.title)} HTTP interface</h1>
<p>Version ${escape(info.version)}. ${withCode(info.description)} The same as a document for programs: <a href="/api/openapi.json">openapi.json</a>.</p>
<nav>${links.join(" ")}</nav>
</header>
<main>${sections.join("\n")}</main>
</body>
</html>
`;
}

function operationOf(method: string, path: string, operation: Operation): string {
  const { summary, parameters, requestBody, responses } = operation;
  const rows = parameters.map(({ name, in: place, required, description = "", schema }) => {
    const type = escape(typeOf(schema));
    return `<tr><td><code>${escape(name)}</code></td><td>${place}${required ? ", required" : ""}</td><td>${type}</td><td>${withCode(description)}</td></tr>`;
  });
  const table =
    rows.length === 0
      ? ""
      : `<table><thead><tr><th>name</th><th>where</th><th>type</th><th></th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
  const body = requestBody === undefined ? "" : schemaOf("Body", requestBody.content["application/json"].schema);
  const [status = "200"] = Object.keys(responses);
  const { content } = responses[status] as { content: { "application/json": { schema: object } } };
  return `<article id="${escape(operation.operationId)}">
<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${escape(path)}</code></h3>
<p>${withCode(summary)} <small>role ${escape(operation["x-role"])}</small></p>
${table}${body}${schemaOf(`Answer, ${status}`, content["application/json"].schema)}
</article>`;
}

function schemaOf(title: string, schema: object): string {
  const text = escape(JSON.stringify(schema, null, 2));
  return `<details><summary>${escape(title)}</summary><pre>${text}</pre></details>`;
}

function typeOf(schema: Record<string, unknown>): string {
  const { type, enum: choices } = schema;
  if (Array.isArray(choices)) return choices.join(" | ");
  return typeof type === "string" ? type : "any";
}

function withCode(text: string): string {
  return escape(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}

export const referenceStyle = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
nav { display: flex; flex-wrap: wrap; gap: 0.75rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
article { border: 1px solid var(--line); border-radius: 6px; padding: 0 1rem; margin: 1rem 0; }
h3 { font-size: 1rem; overflow-wrap: anywhere; }
small { opacity: 0.7; margin-left: 0.5rem; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; }
th, td { text-align: left; padding: 0.25rem 0.5rem; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; }
pre { overflow: auto; background: var(--soft); padding: 0.75rem; border-radius: 4px; }
details { margin: 0.5rem 0; }
.method { font: 600 0.8rem ui-monospace, monospace; padding: 0.1rem 0.4rem; border-radius: 4px; background: var(--soft); }
.method.get { color: light-dark(#0b6bcb, #6cb6ff); }
.method.post { color: light-dark(#1a7f37, #57d364); }
.method.put, .method.patch { color: light-dark(#9a6700, #e3b341); }
.method.delete { color: light-dark(#cf222e, #ff7b72); }
`;
