import com.google.gson.*;
import jakarta.jws.WebMethod;
import jakarta.jws.WebParam;
import jakarta.xml.bind.JAXBElement;
import jakarta.xml.bind.annotation.XmlElement;
import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Service;
import jakarta.xml.ws.WebServiceClient;
import jakarta.xml.ws.handler.MessageContext;
import java.io.InputStreamReader;
import java.lang.reflect.*;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.*;
import javax.xml.datatype.*;
import javax.xml.namespace.QName;

/** Asks the eleven searches by generated classes (JAX-WS) and prints decoded values: java Client WSDL KEY PORT SERVICE < requests.json */
public class Client {
    static final DatatypeFactory dates = DatatypeFactory.newDefaultInstance();

    public static void main(String[] a) throws Exception {
        Class<?> portType = Class.forName(a[2]), service = Class.forName(a[3]);
        Service s = (Service) service.getConstructor(URL.class).newInstance(new URL(a[0]));
        Object port = s.getPort(portType);
        ((BindingProvider) port).getRequestContext().put(MessageContext.HTTP_REQUEST_HEADERS, Map.of("X-API-Key", List.of(a[1])));
        if (System.getenv("STRICT") != null) ((BindingProvider) port).getRequestContext().put("schema-validation-enabled", "true"); // of CXF
        int n = 0;
        for (JsonElement e : JsonParser.parseReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).getAsJsonArray()) {
            String operation = e.getAsJsonObject().get("operation").getAsString();
            JsonObject parameters = e.getAsJsonObject().getAsJsonObject("parameters");
            List<String> out = new ArrayList<>();
            flat(n++ + "." + operation, call(port, portType, operation, parameters), out);
            Collections.sort(out);
            System.out.println(String.join("\n", out));
        }
        System.exit(0); // CXF keeps threads
    }

    static Object call(Object port, Class<?> portType, String operation, JsonObject parameters) throws Exception {
        for (Method m : portType.getMethods()) {
            WebMethod w = m.getAnnotation(WebMethod.class);
            if (w == null || !m.getName().equals(operation) && !w.operationName().equals(operation)) continue;
            Object[] args = new Object[m.getParameterCount()];
            for (int i = 0; i < args.length; i++) {
                String name = m.getParameters()[i].getAnnotation(WebParam.class).name();
                args[i] = made(m.getGenericParameterTypes()[i], parameters.get(name));
                parameters.remove(name);
            }
            if (parameters.size() > 0) throw new IllegalStateException(operation + " has no parameter " + parameters.keySet());
            return m.invoke(port, args);
        }
        throw new NoSuchMethodException(operation);
    }

    /** made builds a value of a generated type. */
    static Object made(Type type, JsonElement v) throws Exception {
        if (v == null) return null;
        if (type instanceof ParameterizedType p) { // a list
            List<Object> list = new ArrayList<>();
            for (JsonElement x : v.getAsJsonArray()) list.add(made(p.getActualTypeArguments()[0], x));
            return list;
        }
        Class<?> c = (Class<?>) type;
        if (c == String.class) return v.getAsString();
        if (c == Boolean.class || c == boolean.class) return v.getAsBoolean();
        if (c == Integer.class || c == int.class) return v.getAsInt();
        if (c == XMLGregorianCalendar.class) return dates.newXMLGregorianCalendar(v.getAsString());
        Object bean = c.getConstructor().newInstance();
        for (Map.Entry<String, JsonElement> x : v.getAsJsonObject().entrySet()) {
            Field f = fields(c).get(x.getKey());
            if (f == null) throw new NoSuchFieldException(c + " " + x.getKey());
            f.set(bean, made(f.getGenericType(), x.getValue()));
        }
        return bean;
    }

    /** fields maps the names of elements to the fields of a generated class and of those that it extends. */
    static Map<String, Field> fields(Class<?> c) {
        Map<String, Field> all = c.getSuperclass() == Object.class ? new LinkedHashMap<>() : fields(c.getSuperclass());
        for (Field f : c.getDeclaredFields()) {
            if (Modifier.isStatic(f.getModifiers())) continue;
            f.setAccessible(true);
            XmlElement x = f.getAnnotation(XmlElement.class);
            all.put(x == null || x.name().equals("##default") ? f.getName() : x.name(), f);
        }
        return all;
    }

    static void flat(String path, Object v, List<String> out) throws Exception {
        if (v instanceof JAXBElement<?> e) v = e.isNil() ? null : e.getValue();
        if (v == null || v.equals("")) return;
        if (v instanceof List<?> list) {
            for (int i = 0; i < list.size(); i++) flat(path + "[" + i + "]", list.get(i), out);
        } else if (v instanceof XMLGregorianCalendar at) {
            out.add(path + "=" + (at.getXMLSchemaType() == DatatypeConstants.DATE ? at.toXMLFormat()
                : at.toGregorianCalendar().toInstant().atOffset(ZoneOffset.UTC).format(DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss'Z'"))));
        } else if (v instanceof Enum<?>) {
            out.add(path + "=" + v.getClass().getMethod("value").invoke(v));
        } else if (v.getClass().getName().startsWith("java.")) {
            out.add(path + "=" + v);
        } else {
            Map<String, Field> fields = fields(v.getClass());
            if (fields.keySet().equals(Set.of("item"))) flat(path, fields.get("item").get(v), out);
            else for (String name : fields.keySet()) flat(path + "." + name, fields.get(name).get(v), out);
        }
    }
}
