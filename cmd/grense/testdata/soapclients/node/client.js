// Asks the eleven searches with the package soap and prints decoded values: node client.js WSDL KEY < requests.json
const soap = require('soap');
const fs = require('fs');

function flat(path, v, out) {
  if (v === null || v === undefined || v === '') return;
  if (v instanceof Date) {
    const at = v.toISOString();
    out.push(path + '=' + (path.endsWith('.date') ? at.slice(0, 10) : at.slice(0, 19) + 'Z'));
  } else if (Array.isArray(v)) {
    v.forEach((x, i) => flat(`${path}[${i}]`, x, out));
  } else if (typeof v === 'object') {
    const names = Object.keys(v).filter((k) => k !== 'attributes');
    if (names.length === 1 && names[0] === 'item') flat(path, [].concat(v.item), out);
    else names.forEach((k) => flat(path + '.' + k, v[k], out));
  } else {
    out.push(path + '=' + v);
  }
}

(async () => {
  const [wsdl, key] = process.argv.slice(2);
  const client = await soap.createClientAsync(wsdl);
  client.addHttpHeader('X-API-Key', key);
  for (const [n, r] of JSON.parse(fs.readFileSync(0, 'utf8')).entries()) {
    const [answer] = await client[r.operation + 'Async'](r.parameters);
    const out = [];
    flat(`${n}.${r.operation}`, answer.return, out);
    console.log(out.sort().join('\n'));
  }
})().catch((e) => {
  console.error(e.message);
  process.exit(1);
});
