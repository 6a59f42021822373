// Asks the eleven searches by the classes that Mono's wsdl generates and prints decoded values: mono client.exe WSDL KEY < requests.json
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Net;
using System.Reflection;
using System.Text;
using System.Web.Script.Serialization;
using System.Xml.Serialization;

class WithKey : SoekServiceWS {
    readonly string key;

    public WithKey(string url, string key) {
        Url = url;
        this.key = key;
    }

    protected override WebRequest GetWebRequest(Uri uri) {
        WebRequest r = base.GetWebRequest(uri);
        r.Headers["X-API-Key"] = key;
        return r;
    }
}

static class MonoClient {
    static void Main(string[] a) {
        var stdin = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        var stdout = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
        var service = new WithKey(a[0].Split('?')[0], a[1]);
        int n = 0;
        foreach (IDictionary<string, object> r in (IEnumerable)new JavaScriptSerializer().DeserializeObject(stdin.ReadToEnd())) {
            var operation = (string)r["operation"];
            var parameters = (IDictionary<string, object>)r["parameters"];
            MethodInfo m = typeof(SoekServiceWS).GetMethod(operation);
            var args = new List<object>();
            var left = new HashSet<string>(parameters.Keys);
            foreach (ParameterInfo p in m.GetParameters()) {
                object v;
                if (p.Name.EndsWith("Specified")) v = parameters.ContainsKey(p.Name.Substring(0, p.Name.Length - 9));
                else v = parameters.ContainsKey(p.Name) ? Made(p.ParameterType, parameters[p.Name]) : null;
                args.Add(v);
                left.Remove(p.Name);
            }
            if (left.Count > 0) throw new Exception(operation + " has no parameter " + string.Join(" ", left));
            var lines = new List<string>();
            Flat(n++ + "." + operation, m.Invoke(service, args.ToArray()), "", lines);
            foreach (string line in lines) stdout.WriteLine(line);
        }
        stdout.Flush();
    }

    /// Made builds a value of a generated type.
    static object Made(Type type, object v) {
        if (type.IsArray) {
            var of = new List<object>();
            foreach (object x in (IEnumerable)((IDictionary<string, object>)v)["item"]) of.Add(Made(type.GetElementType(), x));
            Array all = Array.CreateInstance(type.GetElementType(), of.Count);
            for (int i = 0; i < of.Count; i++) all.SetValue(of[i], i);
            return all;
        }
        if (type == typeof(DateTime)) return DateTime.Parse((string)v, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind);
        if (!(v is IDictionary<string, object>)) return Convert.ChangeType(v, type, CultureInfo.InvariantCulture);
        object made = Activator.CreateInstance(type);
        foreach (KeyValuePair<string, object> f in (IDictionary<string, object>)v) {
            PropertyInfo p = type.GetProperty(f.Key), specified = type.GetProperty(f.Key + "Specified");
            if (p == null) throw new Exception(type + " has no " + f.Key);
            p.SetValue(made, Made(p.PropertyType, f.Value), null);
            if (specified != null) specified.SetValue(made, true, null);
        }
        return made;
    }

    /// Flat adds the values of v; kind is the type of the schema where the generator tells it.
    static void Flat(string path, object v, string kind, List<string> lines) {
        if (v == null || v is string && (string)v == "") return;
        Type type = v.GetType();
        if (v is Array) {
            int i = 0;
            foreach (object x in (Array)v) Flat(path + "[" + i++ + "]", x, "", lines);
        } else if (v is DateTime) {
            var at = (DateTime)v;
            lines.Add(path + "=" + (kind == "date" ? at.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture) : at.ToUniversalTime().ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture)));
        } else if (v is bool) {
            lines.Add(path + "=" + ((bool)v ? "true" : "false"));
        } else if (type.IsEnum) {
            var named = (XmlEnumAttribute)Attribute.GetCustomAttribute(type.GetField(v.ToString()), typeof(XmlEnumAttribute));
            lines.Add(path + "=" + (named != null && named.Name != null ? named.Name : v.ToString()));
        } else if (v is string || type.IsPrimitive || v is decimal) {
            lines.Add(path + "=" + Convert.ToString(v, CultureInfo.InvariantCulture));
        } else {
            foreach (PropertyInfo p in type.GetProperties()) {
                PropertyInfo specified = type.GetProperty(p.Name + "Specified");
                if (p.Name.EndsWith("Specified") || specified != null && !(bool)specified.GetValue(v, null)) continue;
                var element = (XmlElementAttribute)Attribute.GetCustomAttribute(p, typeof(XmlElementAttribute));
                Flat(path + "." + p.Name, p.GetValue(v, null), element == null ? "" : element.DataType, lines);
            }
        }
    }
}
